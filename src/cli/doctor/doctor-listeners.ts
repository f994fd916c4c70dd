/** The doctor's checks of the listeners: the readiness of a running server, else whether the addresses are free. */
import {
  hasOwnListener,
  listenerNames,
  type ListenerName,
  type Settings,
} from '../../server/config/settings-schema.ts';
import { formatListenAddress, type ListenAddress } from '../../lib/connections/listen-address.ts';
import { findListenProblem } from '../../server/config/start-checks.ts';
import { readRuntimeFile, type Runtime } from '../../server/bootstrap/runtime-file.ts';
import { livingPid } from '../../storage/lmdb/data-directory.ts';
import { messageOf } from '../../lib/result.ts';
import { reachableAddress } from '../admin/running-server.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { failing, ok, warn, type Finding } from '../../server/health/finding.ts';
import { reasonsInWords } from '../../server/health/unready-reasons.ts';

export async function checkListeners({ settings, dataDirectory }: CommandContext): Promise<Finding[]> {
  const running = readRuntimeFile(dataDirectory);
  if (running !== null) return [await checkReadiness(running), ...boundListeners(running)];
  const pid = livingPid(dataDirectory);
  if (pid !== null)
    return [warn(serverCheck, `process ${pid} is starting or stopping`, 'run the doctor again in a moment')];
  const own = listenerNames.filter((name) => hasOwnListener(settings, name));
  const listens = own.flatMap((name) => listensOf(settings, name));
  const addresses = await Promise.all(listens.map(({ name, address }) => checkAddress(name, address)));
  return [ok(serverCheck, 'no server runs on this data directory'), ...addresses];
}

/** Several media processes listen on consecutive ports. */
function listensOf(
  settings: Settings,
  name: ListenerName,
): { readonly name: ListenerName; readonly address: ListenAddress }[] {
  const { host, port } = settings[name].listen;
  const length = name === 'media' && port > 0 ? settings.media.processes : 1;
  return Array.from({ length }, (_, n) => ({ name, address: { host, port: port + n } }));
}

const serverCheck = 'server';

function boundListeners({ listeners }: Runtime): Finding[] {
  return Object.entries(listeners)
    .filter(([, address]) => address !== '')
    .map(([name, address]) => ok(`${name} listener`, `${address}, bound by the running server`));
}

const probeMsMax = 3000;

interface Probe {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

async function checkReadiness({ pid, listeners }: Runtime): Promise<Finding> {
  const running = `process ${pid} runs on this data directory`;
  try {
    const origin = `http://${reachableAddress(listeners['ops'] ?? '')}`;
    const response = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(probeMsMax) });
    return judgeReadiness(running, (await response.json()) as Probe);
  } catch (error) {
    const fault = `${running} and does not answer on its ops listener: ${messageOf(error)}`;
    return failing(serverCheck, fault, 'read its log, and restart it');
  }
}

function judgeReadiness(running: string, { ready, reasons }: Probe): Finding {
  if (ready && reasons.length === 0) return ok(serverCheck, `${running}, ready`);
  const why = reasons.map((reason) => reasonsInWords[reason] ?? reason).join('; ');
  if (ready) return warn(serverCheck, `${running}, is ready, but reports problems`, why);
  return failing(serverCheck, `${running} and is not ready (${reasons.join(', ')})`, why);
}

async function checkAddress(name: string, address: ListenAddress): Promise<Finding> {
  const check = `${name} listener`;
  const problem = await findListenProblem(address);
  const advice = `stop the process that uses it, or set ${name}.listen (REVEILLE_${name.toUpperCase()}_LISTEN)`;
  if (problem !== null) return failing(check, problem, advice);
  const text = formatListenAddress(address);
  return ok(check, address.port === 0 ? `${text}: a free port is chosen` : `${text} is free`);
}
