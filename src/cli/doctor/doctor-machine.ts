/**
 * The doctor's checks of the machine: Node, the two binaries, the data directory, open files, files with secrets, and that
 * each port is free or has our own running server; and the finding that every check of the doctor makes.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { descriptorsReserved, frontEndReadBytes } from '../../model/limits.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { Environment } from '../../storage/lmdb/environment.ts';
import { listenerNames, type Settings } from '../../server/config/settings-schema.ts';
import { isLoopback, formatListenAddress, type ListenAddress } from '../../model/settings-values.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { findExposedFiles, secretFilesOf, type SecretFile } from '../../server/config/risks.ts';
import {
  findFileProblems,
  findListenProblem,
  readListenerCertificates,
} from '../../server/config/start-checks.ts';
import { readRuntimeFile } from '../../server/bootstrap/runtime-file.ts';
import { counted } from '../shell/option-values.ts';

export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warn' | 'fail';
  readonly found: string;
  /** The next thing to do; null where all is well. */
  readonly advice: string | null;
}

export function ok(check: string, found: string): Finding {
  return { check, state: 'ok', found, advice: null };
}

export function warn(check: string, found: string, advice: string): Finding {
  return { check, state: 'warn', found, advice };
}

export function failing(check: string, found: string, advice: string): Finding {
  return { check, state: 'fail', found, advice };
}

/** The numbers of a machine that decide whether it is good enough. */
export interface Machine {
  readonly nodeVersion: string;
  /** The soft limit of open files. */
  readonly openFilesMax: number;
  /** The most bytes that the kernel buffers of one TCP connection; null: this system does not say. */
  readonly receiveBufferMax: number | null;
}

function thisMachine(): Machine {
  const nodeVersion = process.versions.node;
  return { nodeVersion, openFilesMax: readOpenFilesLimit(), receiveBufferMax: readReceiveBufferMax() };
}

export async function checkMachine(
  { settings, dataDirectory }: Pick<CommandContext, 'settings' | 'dataDirectory'>,
  machine = thisMachine(),
): Promise<Finding[]> {
  return [
    checkNode(machine.nodeVersion),
    await checkFrontEnd(),
    await checkStorePackage(),
    checkDataDirectory(dataDirectory),
    checkOpenFiles(settings.sleep.max_sessions, machine.openFilesMax),
    ...checkReceiveBuffers(settings, machine.receiveBufferMax),
  ];
}

const testedMajors: ReadonlySet<number> = new Set([20, 22]);

function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const advice = 'run on Node 20 or 22';
  if (major < 20 || (major === 20 && minor < 12)) return failing('node', `${version} is too old`, advice);
  if (!testedMajors.has(major)) return warn('node', `${version} is not one it is tested on`, advice);
  return ok('node', version);
}

async function checkFrontEnd(): Promise<Finding> {
  try {
    await import('../../lib/uws.ts');
    return ok('uWebSockets.js', 'its binary loads');
  } catch (error) {
    return failing('uWebSockets.js', (error as Error).message, 'see "official uWebSockets.js" in README.md');
  }
}

/** Opens a store in a temporary directory, so that the state of the data directory does not matter. */
async function checkStorePackage(): Promise<Finding> {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-doctor-'));
  try {
    await new Environment(join(directory, 'doctor.mdb'), 'write').close();
    return ok('lmdb', 'its binary loads and opens a store');
  } catch (error) {
    return failing('lmdb', (error as Error).message, 'run npm ci on this machine');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function checkDataDirectory(directory: string): Finding {
  const check = 'data directory';
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (stats === undefined) return warn(check, `${directory} is not there yet`, 'the first start makes it');
  const elsewhere = 'name another directory with REVEILLE_DATA_DIR';
  if (!stats.isDirectory()) return failing(check, `${directory} is no directory`, elsewhere);
  const ownUid = process.getuid?.();
  if (ownUid !== undefined && stats.uid !== ownUid)
    return failing(
      check,
      `${directory} belongs to user ${stats.uid}, this is user ${ownUid}`,
      `run as its owner, or ${elsewhere}`,
    );
  const mode = stats.mode & 0o777;
  if (process.platform !== 'win32' && mode !== 0o700)
    return warn(
      check,
      `${directory} has mode 0${mode.toString(8)}`,
      `close it to others: chmod 700 ${directory}; a start does it, too`,
    );
  return ok(check, `${directory}, ours alone`);
}

/** `wanted`: the setting. */
function checkOpenFiles(wanted: number, limit: number): Finding {
  const bounded = boundSessions(wanted, limit, descriptorsReserved);
  const found = `the limit of ${limit} leaves room for ${bounded} sleep sessions`;
  if (bounded >= wanted) return ok('open files', found);
  const advice = `sleep.max_sessions is ${wanted}: ulimit -n ${wanted + descriptorsReserved}, or LimitNOFILE in its unit`;
  return bounded === 0 ? failing('open files', found, advice) : warn('open files', found, advice);
}

const receiveBuffersFile = '/proc/sys/net/ipv4/tcp_rmem';
const receiveBuffersAdvice = "sysctl -w net.ipv4.tcp_rmem='4096 131072 393216', and in /etc/sysctl.d";

function readReceiveBufferMax(): number | null {
  if (!existsSync(receiveBuffersFile)) return null;
  return Number(readFileSync(receiveBuffersFile, 'latin1').trim().split(/\s+/).at(-1));
}

/** The front end's library keeps reading one socket as long as its reads are full. See docs/adr/0022. */
function checkReceiveBuffers(
  { api, signal }: Pick<Settings, 'api' | 'signal'>,
  bytes: number | null,
): Finding[] {
  if (bytes === null || (isLoopback(api.listen) && isLoopback(signal.listen))) return [];
  const check = 'receive buffers';
  const found = `a connection may have ${bytes} bytes waiting`;
  if (bytes < frontEndReadBytes) return [ok(check, found)];
  const risk = `${found}: one peer with some Gbit/s can hold the API or the signal listener for seconds`;
  return [warn(check, risk, receiveBuffersAdvice)];
}

/** Checks that other users of this machine can neither read nor write files with secrets outside of the data directory. */
export function checkFiles({ settings, settingsSources, clock }: CommandContext): Finding[] {
  const check = 'secret files';
  const { file } = settingsSources;
  const own: SecretFile[] = file === undefined ? [] : [{ name: 'the settings', path: file }];
  const files = [...own, ...secretFilesOf(settings)];
  const exposed = findExposedFiles(files).map(({ name, path, found, advice }) =>
    warn(check, `${name}: ${path} ${found}`, advice),
  );
  const unusable = findFileProblems(settings).map(({ setting, reason }) =>
    failing(setting, reason, 'a server does not start with it'),
  );
  const closed = files.length === 0 || exposed.length > 0 ? exposed : [ok(check, closedFiles(files))];
  return [...unusable, ...closed, ...checkExpiry(settings, clock.wallMs())];
}

function closedFiles(files: readonly SecretFile[]): string {
  return `${files.map(({ name }) => name).join(', ')}: closed to other users`;
}

const dayMs = 86_400_000;
const expiryWarningDays = 30;

/** Certificates of our listeners that can be read. */
function checkExpiry(settings: Settings, nowMs: number): Finding[] {
  return readListenerCertificates(settings).map(({ setting, path, expiresMs }) => {
    const days = Math.floor((expiresMs - nowMs) / dayMs);
    const found = `${path}: until ${new Date(expiresMs).toISOString().slice(0, 10)}`;
    const advice = 'renew it, and send the server SIGHUP';
    if (days < 0) return failing(setting, `${found}, which is over`, advice);
    return days < expiryWarningDays
      ? warn(setting, `${found}, in ${counted(days, 'day')}`, advice)
      : ok(setting, found);
  });
}

export async function checkPorts({ settings, dataDirectory }: CommandContext): Promise<Finding[]> {
  const running = readRuntimeFile(dataDirectory);
  if (running !== null)
    return listenerNames.map((name) =>
      ok(
        `${name} listener`,
        `${running.listeners[name]}, held by our running server (process ${running.pid})`,
      ),
    );
  return Promise.all(listenerNames.map((name) => checkPort(name, settings[name].listen)));
}

async function checkPort(name: string, address: ListenAddress): Promise<Finding> {
  const check = `${name} listener`;
  const problem = await findListenProblem(address);
  const advice = `stop what has it, or set ${name}.listen (REVEILLE_${name.toUpperCase()}_LISTEN)`;
  if (problem !== null) return failing(check, problem, advice);
  const text = formatListenAddress(address);
  return ok(check, address.port === 0 ? `${text}: a free port is picked` : `${text} is free`);
}
