/** Checks of files named in the settings: exposed secrets, invalid files, and certificates that expire. */
import { findExposedFiles, secretFilesOf, type SecretFile } from '../config/risks.ts';
import type { Settings } from '../config/settings-schema.ts';
import { findFileProblems, readListenerCertificates } from '../config/start-checks.ts';
import { failing, ok, warn, type Finding } from './finding.ts';

/**
 * Checks that other users of this machine can neither read nor write secret files outside of the data directory.
 * `file`: the settings file; undefined: none.
 */
export function checkFiles(settings: Settings, file: string | undefined, nowMs: number): Finding[] {
  const check = 'secret files';
  const own: SecretFile[] = file === undefined ? [] : [{ name: 'the settings', path: file }];
  const files = [...own, ...secretFilesOf(settings)];
  const exposed = findExposedFiles(files).map(({ name, path, found, advice }) =>
    warn(check, `${name}: ${path} ${found}`, advice),
  );
  const unusable = findFileProblems(settings).map(({ setting, reason }) =>
    failing(setting, reason, 'a server cannot start with it'),
  );
  const closed =
    files.length === 0 || exposed.length > 0
      ? exposed
      : [ok(check, `${files.map(({ name }) => name).join(', ')}: closed to other users`)];
  return [...unusable, ...closed, ...checkExpiry(settings, nowMs)];
}

const dayMs = 86_400_000;
const expiryWarningDays = 30;

/** Checks readable certificates of the listeners. */
function checkExpiry(settings: Settings, nowMs: number): Finding[] {
  return readListenerCertificates(settings).map(({ setting, path, expiresMs }) => {
    const days = Math.floor((expiresMs - nowMs) / dayMs);
    const found = `${path}: until ${new Date(expiresMs).toISOString().slice(0, 10)}`;
    const advice = 'renew it, and send the server SIGHUP';
    if (days < 0) return failing(setting, `${found}, expired`, advice);
    return days < expiryWarningDays
      ? warn(setting, `${found}, in ${days} ${days === 1 ? 'day' : 'days'}`, advice)
      : ok(setting, found);
  });
}
