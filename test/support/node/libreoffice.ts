import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const hasLibreOffice = spawnSync('soffice', ['--version']).status === 0;

type Form = 'xlsx' | 'ods';

/**
 * Runs a Basic module in LibreOffice in the given language. The module applies each of the named
 * edits to its own copy of the workbook. Returns the edited copies in the order of `edits`.
 */
export function editWorkbooks(
  basic: string,
  [locale, form]: readonly [locale: 'en-US' | 'es-ES' | 'de-DE', form: Form],
  bytes: Uint8Array,
  edits: readonly string[],
): Uint8Array[] {
  const folder = mkdtempSync(join(tmpdir(), 'libreoffice-'));
  const user = join(folder, 'user');
  const run = (...args: string[]) => {
    const options = [`-env:UserInstallation=${pathToFileURL(folder)}`, '--headless', ...args];
    const { status, stderr } = spawnSync('soffice', options, {
      encoding: 'utf8',
      timeout: 900_000,
    });
    if (status !== 0) throw new Error(`soffice ended with ${status}: ${stderr}`);
  };
  try {
    mkdirSync(user);
    writeFileSync(join(user, 'registrymodifications.xcu'), settings(locale));
    // On its first start, LibreOffice creates an empty macro library.
    run('--terminate_after_init');
    for (const [name, text] of moduleFiles(basic)) {
      writeFileSync(join(user, 'basic', 'Standard', name), text);
    }
    const source = join(folder, 'export.xlsx');
    writeFileSync(source, bytes);
    const urls = [source, folder].map((path) => `"${pathToFileURL(path)}"`);
    run('--norestore', `macro:///Standard.Edits.Run(${urls},"${form}","${edits}")`);
    return edits.map((name) => readFileSync(join(folder, `${name}.${form}`)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the files that LibreOffice needs for a Basic module and its library. */
function moduleFiles(basic: string): [name: string, text: string][] {
  const code = basic.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const head = (type: string, name: string) =>
    `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE ${type} PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "${name}.dtd">`;
  const module = `${head('script:module', 'module')}
<script:module xmlns:script="http://openoffice.org/2000/script" script:name="Edits" script:language="StarBasic">${code}</script:module>`;
  const library = `${head('library:library', 'library')}
<library:library xmlns:library="http://openoffice.org/2000/library" library:name="Standard" library:readonly="false" library:passwordprotected="false"><library:element library:name="Edits"/></library:library>`;
  return [
    ['Edits.xba', module],
    ['script.xlb', library],
  ];
}

/** Returns LibreOffice settings that set the language of the interface, of numbers and of dates. */
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
