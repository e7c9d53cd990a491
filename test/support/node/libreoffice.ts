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

/** Makes the edits of a Basic module in copies of a workbook, each saved as .xlsx. The folder is scratch. */
export function editWith(
  folder: string,
  basic: string,
  bytes: Uint8Array,
  edits: readonly string[],
): Map<string, Uint8Array> {
  const profile = join(folder, 'profile-edits');
  const library = join(profile, 'user', 'basic', 'Standard');
  const run = (...args: string[]) => {
    const options = [`-env:UserInstallation=${pathToFileURL(profile)}`, '--headless', ...args];
    const { status, stderr } = spawnSync('soffice', options, { encoding: 'utf8', timeout: 600_000 });
    if (status !== 0) throw new Error(`soffice ended with ${status}: ${stderr}`);
  };
  // The first start writes a library without modules.
  run('--terminate_after_init');
  const xml = (doctype: string, text: string) =>
    `<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE ${doctype} PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "${doctype.replace(/.*:/, '')}.dtd">\n${text}`;
  const code = basic.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  writeFileSync(
    join(library, 'Edits.xba'),
    xml(
      'script:module',
      `<script:module xmlns:script="http://openoffice.org/2000/script" script:name="Edits" script:language="StarBasic">${code}</script:module>`,
    ),
  );
  writeFileSync(
    join(library, 'script.xlb'),
    xml(
      'library:library',
      '<library:library xmlns:library="http://openoffice.org/2000/library" library:name="Standard" library:readonly="false" library:passwordprotected="false"><library:element library:name="Edits"/></library:library>',
    ),
  );
  const source = join(folder, 'export.xlsx');
  writeFileSync(source, bytes);
  const [from, to] = [source, folder].map((path) => pathToFileURL(path).href);
  run('--norestore', `macro:///Standard.Edits.Run("${from}","${to}","${edits.join()}")`);
  return new Map(edits.map((name) => [name, readFileSync(join(folder, `${name}.xlsx`))]));
}
