/**
 * Loaded first by the wrangler of `dev`: ends it when `dev` closes the channel, as a kill of `dev`
 * does too. A wrangler that exits ends its runtime.
 */

process.once('disconnect', () => process.exit(1));
process.channel?.unref();
