/**
 * Ends the wrangler of `dev` when `dev` closes the channel between them, which also happens if `dev`
 * is killed. Wrangler loads this file first. When wrangler exits, it ends its runtime.
 */

process.once('disconnect', () => process.exit(1));
process.channel?.unref();
