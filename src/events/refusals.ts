/** The errors that are the events' own. */

import { ApiError, type Problem, resourceMissing, validationError } from '../http/errors.ts';
import { IDEMPOTENCY_KEY_HEADER } from './request.ts';

/** 404 `resource_missing`. */
export function noSuchEvent(): ApiError {
  return resourceMissing('There is no such event.');
}

/** 400 `validation_error`: a list cannot go on from an event that does not exist. */
export function unknownAfterId(): ApiError {
  return validationError([{ path: 'after_id', message: 'must be the id of an existing event' }]);
}

/** 409 `idempotency_key_in_use`. `differences` is left out when the body that holds the key cannot be read. */
export function keyInUse(differences?: readonly Problem[]): ApiError {
  return new ApiError(
    'idempotency_key_in_use',
    'This Idempotency-Key was used for another body. Send the first body again, or a new key.',
    { param: IDEMPOTENCY_KEY_HEADER, ...(differences && { details: differences }) },
  );
}
