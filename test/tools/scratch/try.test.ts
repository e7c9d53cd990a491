import { readFileSync, writeFileSync, existsSync } from 'node:fs';
import { it, expect, beforeAll } from 'vitest';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
const imports = openMemoryImports();
it('x', async () => {
  await imports.load(readFileSync('tools/samples/listings.json', 'utf8'));
  const w = await imports.exportedWorkbook();
  if (!existsSync('/tmp/wbtrial/cat.xlsx')) writeFileSync('/tmp/wbtrial/cat.xlsx', w);
  console.log(await imports.loadWorkbook(w));
  for (const f of ['out','bods','bxls']) if (existsSync(`/tmp/wbtrial/${f}/cat.xlsx`)) console.log(f, await imports.loadWorkbook(readFileSync(`/tmp/wbtrial/${f}/cat.xlsx`), '--dry-run'));
  console.log(await imports.load(await imports.exported()));
});
