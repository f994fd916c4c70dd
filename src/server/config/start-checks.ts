/**
 * Checks before a server opens anything: files named in the settings, and addresses in use. `reveille doctor` runs the same checks.
 */
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { getSystemErrorMap } from 'node:util';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { descriptorsReserved } from '../../model/limits.ts';
import { formatListenAddress, type ListenAddress } from '../../lib/connections/listen-address.ts';
import { hasOwnListener, listenerNames, type Settings } from './settings-schema.ts';

export interface StartProblem {
  /** Name of the setting: `sleep.tls_key_file`. */
  readonly setting: string;
  /** The fault, with the file or address. */
  readonly reason: string;
}

const withTls = ['api', 'sleep', 'signal', 'media'] as const;

/** Unreadable or invalid files, in the order of the settings. */
export function findFileProblems(settings: Settings): StartProblem[] {
  const problems = withTls.flatMap((section) => findTlsProblems(section, settings[section]));
  const { registry, calls, media, edges, edge, cluster } = settings;
  const files = {
    'registry.file': registry.file,
    'media.link_key_file': media.link_key_file,
    'edges.key_file': edges.key_file,
    'edge.key_file': edge.key_file,
    'cluster.nats_credentials': cluster.nats_credentials,
    'cluster.nats_ca': cluster.nats_ca,
  };
  for (const [setting, path] of Object.entries(files))
    if (path !== null) problems.push(...findReadProblem(setting, path));
  // Created on first use.
  const tokenKeys = calls.token_keys_file;
  if (tokenKeys !== null)
    problems.push(...findReadProblem('calls.token_keys_file', tokenKeys).filter((one) => !one.isAbsent));
  return problems.map(({ setting, reason }) => ({ setting, reason }));
}

/** `limit`: of open files. A server without descriptors for sessions would report ready, but admit no device. */
export function findLimitProblems(limit = readOpenFilesLimit()): StartProblem[] {
  if (boundSessions(1, limit, descriptorsReserved) > 0) return [];
  const reason =
    `the limit of open files is ${limit}, and the first ${descriptorsReserved} are kept for other work: ` +
    `no device could connect; raise it with ulimit -n 65536, or LimitNOFILE=65536 in the unit`;
  return [{ setting: 'sleep.max_sessions', reason }];
}

export type ListenerCertificate = ReturnType<typeof readListenerCertificates>[number];

/** Readable certificates of the listeners. `expiresMs`: wall milliseconds. */
export function readListenerCertificates(settings: Settings) {
  return withTls.flatMap((section) => {
    const path = settings[section].tls_cert_file;
    const certificate = path === null ? null : readPem(path, (pem) => new X509Certificate(pem));
    if (path === null || certificate === null) return [];
    const setting = `${section}.tls_cert_file`;
    return [{ listener: section, setting, path, certificate, expiresMs: Date.parse(certificate.validTo) }];
  });
}

/** Addresses that cannot be bound now; a free port may be taken a moment later. */
export async function findAddressProblems(settings: Settings): Promise<StartProblem[]> {
  const problems: StartProblem[] = [];
  for (const section of listenerNames) {
    if (!hasOwnListener(settings, section)) continue;
    const reason = await findListenProblem(settings[section].listen);
    if (reason !== null) problems.push({ setting: `${section}.listen`, reason });
  }
  return problems;
}

/** Resolves with a sentence about the address; null: it can be bound. */
export function findListenProblem(listen: ListenAddress): Promise<string | null> {
  const probe = createServer();
  const address = formatListenAddress(listen);
  return new Promise((resolve) => {
    probe.once('error', (error) => resolve(`${address}: ${wordsOf(error)}`));
    probe.listen({ ...listen, exclusive: true }, () => probe.close(() => resolve(null)));
  });
}

interface TlsPaths {
  readonly tls_cert_file: string | null;
  readonly tls_key_file: string | null;
}

interface FileProblem extends StartProblem {
  readonly isAbsent: boolean;
}

/** Both or neither are set: the schema ensures it. */
function findTlsProblems(
  section: string,
  { tls_cert_file: certFile, tls_key_file: keyFile }: TlsPaths,
): FileProblem[] {
  if (certFile === null || keyFile === null) return [];
  const [cert, key] = [`${section}.tls_cert_file`, `${section}.tls_key_file`];
  const unread = [...findReadProblem(cert, certFile), ...findReadProblem(key, keyFile)];
  if (unread.length > 0) return unread;
  const certificate = readPem(certFile, (pem) => new X509Certificate(pem));
  const privateKey = readPem(keyFile, (pem) => createPrivateKey(pem));
  const problems: FileProblem[] = [];
  if (certificate === null) problems.push(wrong(cert, `${certFile}: no PEM certificate in it`));
  if (privateKey === null)
    problems.push(wrong(key, `${keyFile}: no PEM private key in it, or one with a passphrase`));
  if (certificate !== null && privateKey !== null && !certificate.checkPrivateKey(privateKey))
    problems.push(wrong(key, `${keyFile}: not the key of the certificate in ${certFile}`));
  return problems;
}

function findReadProblem(setting: string, path: string): FileProblem[] {
  try {
    accessSync(path, constants.R_OK);
    return statSync(path).isDirectory() ? [wrong(setting, `${path}: is a directory`)] : [];
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return [{ setting, reason: `${path}: ${wordsOf(error as Error)}`, isAbsent }];
  }
}

function wrong(setting: string, reason: string): FileProblem {
  return { setting, reason, isAbsent: false };
}

/** The system's message. */
function wordsOf(error: NodeJS.ErrnoException): string {
  if (error.code === 'EADDRINUSE') return 'in use by another program, or by a server that runs already';
  if (error.code === 'EADDRNOTAVAIL') return 'not an address of this machine';
  return getSystemErrorMap().get(error.errno ?? 0)?.[1] ?? error.message;
}

/** Null: unreadable, or no such PEM object. */
function readPem<Value>(path: string, parse: (pem: Buffer) => Value): Value | null {
  try {
    return parse(readFileSync(path));
  } catch {
    return null;
  }
}
