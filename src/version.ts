/** The version of the service, as in package.json: the bundle does not contain that file. */

export const VERSION = '1.0.0';
