/** The errors that are the events' own. */

import { type ApiError, resourceMissing, validationError } from '../http/errors.ts';

/** 404 `resource_missing`. */
export function noSuchEvent(): ApiError {
  return resourceMissing('There is no such event.');
}

/** 400 `validation_error`: a list cannot go on from an event that does not exist. */
export function unknownAfterId(): ApiError {
  return validationError([{ path: 'after_id', message: 'must be the id of an existing event' }]);
}
