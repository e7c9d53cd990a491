/** The length of a window of the rate limit: the counter keeps it, and errors and the document tell it. */

export const WINDOW_SECONDS = 60;
