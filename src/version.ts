/** The version of the service. It repeats the one of package.json, so that the bundle does not hold that file. */

export const VERSION = '1.0.0';
