/**
 * Derives settings from the choices of `reveille init`: checks them before anything is written, and formats the settings file,
 * which contains only what was chosen.
 */
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { formatListenAddress, isLoopback } from '../../lib/connections/listen-address.ts';
import { findExposedFiles, secretFilesOf } from '../../server/config/risks.ts';
import { settingsSchema, type Settings } from '../../server/config/settings-schema.ts';
import { loadSettings, settingKeys, type SettingsSources } from '../../server/config/settings.ts';
import {
  findAddressProblems,
  findFileProblems,
  readListenerCertificates,
} from '../../server/config/start-checks.ts';
import { usageError } from '../shell/command-error.ts';
import { isYes } from '../shell/dialogue.ts';
import type { ChoiceChecks, InitChoices } from './init-choices.ts';

/** The environment variables and options that apply besides the choices. */
export type InitSources = Pick<SettingsSources, 'env' | 'overrides'>;

const portsAfterApi = { api: 0, sleep: 1, signal: 2, media: 3, ops: 10 } as const;

/** Each as `section.key=value`. */
function chosen({ host, port, advertise, tlsCert, tlsKey, sleepTls }: InitChoices): string[] {
  const first = Number(port);
  const at = (name: string, section: keyof typeof portsAfterApi): string =>
    formatListenAddress({ host: name, port: first === 0 ? 0 : first + portsAfterApi[section] });
  const listens = (['api', 'sleep', 'signal', 'media'] as const).map(
    (section) => `${section}.listen=${at(host, section)}`,
  );
  const told = (['sleep', 'media'] as const).map(
    (section) => `${section}.advertise=${at(advertise, section)}`,
  );
  const withTls = ['api', 'signal', 'media', ...(isYes(sleepTls) ? ['sleep'] : [])];
  const certificates = withTls.flatMap((section) => [
    `${section}.tls_cert_file=${resolve(tlsCert)}`,
    `${section}.tls_key_file=${resolve(tlsKey)}`,
  ]);
  return [
    ...listens,
    `ops.listen=${at('127.0.0.1', 'ops')}`,
    ...(advertise === '' || first === 0 ? [] : told),
    ...(tlsCert === '' ? [] : certificates),
  ];
}

/** Options take precedence over choices. Throws a SettingsError. */
export function settingsOf(choices: InitChoices, { env, overrides = [] }: InitSources): Settings {
  return loadSettings({ env, overrides: [...chosen(choices), ...overrides] });
}

/** JSON of the chosen settings and the absolute path of the data directory. */
export function fileTextOf(choices: InitChoices, sources: InitSources): string {
  const settings = settingsOf(choices, sources);
  const names = new Set([...chosen(choices), ...(sources.overrides ?? [])].map(nameOf));
  const encoded = settingsSchema.encode(settings) as Record<string, Record<string, unknown>>;
  const sections: Record<string, Record<string, unknown>> = {};
  for (const { name, section, key } of settingKeys)
    if (names.has(name)) (sections[section] ??= {})[key] = encoded[section]?.[key];
  sections['data'] = { ...sections['data'], dir: resolve(settings.data.dir) };
  return `${JSON.stringify(sections, null, 2)}\n`;
}

function nameOf(override: string): string {
  return override.slice(0, override.indexOf('='));
}

/** A variable would override the file, so that the server ignored the choice. Throws a usage error. */
export function refuseVariables(choices: InitChoices, { env, overrides = [] }: InitSources): void {
  const names = new Set([...chosen(choices), ...overrides].map(nameOf));
  const first = settingKeys.find(({ name, variable }) => names.has(name) && env[variable] !== undefined);
  if (first === undefined) return;
  throw usageError(
    `${first.variable} is set and would override ${first.name} in the file`,
    `unset ${first.variable}; init writes the setting into the file`,
  );
}

export function checksWith(sources: InitSources, nowMs: number): ChoiceChecks {
  return {
    listeners: async (choices) => {
      const [problem] = await findAddressProblems(settingsOf({ ...choices, tlsCert: '' }, sources));
      return problem === undefined ? null : `${problem.setting}: ${problem.reason}`;
    },
    tls: (choices) => findTlsProblem(choices, sources, nowMs),
  };
}

function findTlsProblem(choices: InitChoices, sources: InitSources, nowMs: number): string | null {
  if (choices.tlsCert === '') return 'a private key needs its certificate';
  const settings = settingsOf(choices, sources);
  const [problem] = findFileProblems(settings);
  if (problem !== undefined) return problem.reason;
  const [shown] = readListenerCertificates(settings);
  if (shown === undefined) return null;
  const { certificate, path, expiresMs } = shown;
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  if (expiresMs <= nowMs) return `${path}: the certificate has expired on ${day(expiresMs)}`;
  const beginsMs = Date.parse(certificate.validFrom);
  return beginsMs > nowMs ? `${path}: the certificate is valid from ${day(beginsMs)} on` : null;
}

const dayMs = 86_400_000;
const soonMs = 30 * dayMs;

/** Warnings about choices that suffice for a trial only. */
export function warningsOf(choices: InitChoices, sources: InitSources, nowMs: number): string[] {
  const settings = settingsOf(choices, sources);
  const { host, port, advertise, tlsCert } = choices;
  const [shown] = readListenerCertificates(settings);
  const isSoon = shown !== undefined && shown.expiresMs - nowMs < soonMs;
  const isForAnother = shown !== undefined && advertise !== '' && !isFor(shown.certificate, advertise);
  const isOpen = !isLoopback({ host, port: Number(port) });
  return [
    ...(isOpen && tlsCert === ''
      ? ['without TLS, anyone on the network path can read and change the traffic']
      : []),
    ...(isOpen && Number(port) === 0 ? ['free ports differ at each start: devices cannot know them'] : []),
    ...(isSoon ? [`${shown.path} expires on ${new Date(shown.expiresMs).toISOString().slice(0, 10)}`] : []),
    ...(isForAnother ? [`${shown.path} is not for ${advertise}: devices will refuse it`] : []),
    ...findExposedFiles(secretFilesOf(settings))
      .slice(0, 1)
      .map(({ path, found, advice }) => `${path} ${found}: ${advice}`),
  ];
}

function isFor(certificate: X509Certificate, name: string): boolean {
  return (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;
}

export function listenersOf({ api, sleep, signal, media, ops }: Settings): string[][] {
  return Object.entries({ api, sleep, signal, media, ops }).map(([name, section]) => {
    const hasTls = 'tls_cert_file' in section && section.tls_cert_file !== null;
    return [name, formatListenAddress(section.listen), hasTls ? 'TLS' : ''];
  });
}
