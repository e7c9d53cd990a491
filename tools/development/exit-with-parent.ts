/**
 * Makes wrangler exit when `npm run dev` closes the channel to it, which also happens if `dev` is
 * killed. Wrangler loads this file first. When it exits, it also stops workerd.
 */

process.once('disconnect', () => process.exit(1));
process.channel?.unref();
