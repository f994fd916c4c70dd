/** The doctor on files with secrets outside of the data directory: can other users of this machine write or read them? */
import { findExposedFiles, secretFilesOf, type SecretFile } from '../../server/config/exposed-files.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { ok, warn, type Finding } from './doctor-finding.ts';

const check = 'secret files';

export function checkFiles({ settings, settingsSources }: CommandContext): Finding[] {
  const { file } = settingsSources;
  const own: SecretFile[] = file === undefined ? [] : [{ name: 'the settings', path: file }];
  const files = [...own, ...secretFilesOf(settings)];
  const exposed = findExposedFiles(files).map(({ name, path, found, advice }) =>
    warn(check, `${name}: ${path} ${found}`, advice),
  );
  if (files.length === 0 || exposed.length > 0) return exposed;
  return [ok(check, `${files.map(({ name }) => name).join(', ')}: closed to other users`)];
}
