/** LibreOffice, which opens and saves workbooks in a profile of a language. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const hasLibreOffice = spawnSync('soffice', ['--version']).status === 0;

/**
 * Opens workbooks, saves them as another form and again as .xlsx, and returns these in the same
 * order. The folder is scratch.
 */
export function openAndSave(
  folder: string,
  locale: 'en-US' | 'es-ES' | 'de-DE',
  form: 'xlsx' | 'ods' | 'xls',
  workbooks: readonly Uint8Array[],
): Uint8Array[] {
  const profile = join(folder, `profile-${locale}`);
  mkdirSync(join(profile, 'user'), { recursive: true });
  writeFileSync(join(profile, 'user', 'registrymodifications.xcu'), settings(locale));
  const convert = (to: string, files: readonly string[]) => {
    const outdir = join(
      folder,
      `${locale}-${form}-${to}-${files[0]?.endsWith(form) ? 'again' : 'first'}`,
    );
    const args = [
      `-env:UserInstallation=${pathToFileURL(profile)}`,
      '--headless',
      '--convert-to',
      to,
    ];
    const { status, stderr } = spawnSync('soffice', [...args, '--outdir', outdir, ...files], {
      encoding: 'utf8',
      timeout: 300_000,
    });
    if (status !== 0) throw new Error(`soffice ended with ${status}: ${stderr}`);
    return files.map((file) => join(outdir, `${file.split('/').at(-1)?.split('.')[0]}.${to}`));
  };
  const written = workbooks.map((bytes, at) => {
    const file = join(folder, `workbook-${at}.xlsx`);
    writeFileSync(file, bytes);
    return file;
  });
  const saved = convert(form, written);
  const files = form === 'xlsx' ? saved : convert('xlsx', saved);
  return files.map((file) => readFileSync(file));
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
