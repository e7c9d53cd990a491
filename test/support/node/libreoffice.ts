/** LibreOffice, which opens and saves workbooks in a profile of a language. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const hasLibreOffice = spawnSync('soffice', ['--version']).status === 0;

/** Opens workbooks, saves them in another form, and returns these in the same order. The folder is scratch. */
export function openAndSave(
  folder: string,
  locale: 'en-US' | 'es-ES' | 'de-DE',
  form: 'xlsx' | 'ods' | 'xls',
  workbooks: readonly Uint8Array[],
): Uint8Array[] {
  const profile = join(folder, `profile-${locale}`);
  mkdirSync(join(profile, 'user'), { recursive: true });
  writeFileSync(join(profile, 'user', 'registrymodifications.xcu'), settings(locale));
  const files = workbooks.map((bytes, at) => {
    const file = join(folder, `workbook-${at}.xlsx`);
    writeFileSync(file, bytes);
    return file;
  });
  const outdir = join(folder, `${locale}-${form}`);
  const args = [
    `-env:UserInstallation=${pathToFileURL(profile)}`,
    ...['--headless', '--convert-to', form, '--outdir', outdir],
  ];
  const { status, stderr } = spawnSync('soffice', [...args, ...files], {
    encoding: 'utf8',
    timeout: 300_000,
  });
  if (status !== 0) throw new Error(`soffice ended with ${status}: ${stderr}`);
  return files.map((_, at) => readFileSync(join(outdir, `workbook-${at}.${form}`)));
}

/** The language of numbers, dates, words and the interface. */
function settings(locale: string): string {
  const item = (name: string) =>
    `<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="${name}" oor:op="fuse"><value>${locale}</value></prop></item>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
${item('ooSetupSystemLocale')}
${item('ooLocale')}
</oor:items>
`;
}
