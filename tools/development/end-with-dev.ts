/**
 * Loaded first by the wrangler of `dev`: ends it when `dev` is gone, also after a kill, which closes
 * the channel too. A wrangler that exits ends its runtime.
 */

process.once('disconnect', () => process.exit(1));
process.channel?.unref();
