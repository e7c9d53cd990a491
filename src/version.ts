/** The version of the service, as package.json has it; kept here so that none of that file is bundled. */

export const VERSION = '1.0.0';
