/**
 * `reveille serve --processes N`: the supervisor of a coordinator and N workers. It handles signals, holds what they share
 * (the directory's lock, the ports, a directory for sockets) and logs the one line that says ready.
 * Source: cluster.md, Several processes on one machine; running.md, Stopping.
 */
import { hostname } from 'node:os';
import { bindSocket, bindSockets } from '../../lib/bound-sockets.ts';
import { listenSockets } from '../../edge/sleep-sockets.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { descriptorsReserved, processStopMsMax } from '../../model/limits.ts';
import { openLog, type Logging } from '../../server/bootstrap/logging.ts';
import { forkProcess } from '../../server/supervisor/process-channel.ts';
import { makeSocketDirectory, settlePorts } from '../../server/supervisor/process-ports.ts';
import { removeRuntimeFile, writeRuntimeFile } from '../../server/bootstrap/runtime-file.ts';
import type { Settings } from '../../server/config/settings-schema.ts';
import { Supervisor } from '../../server/supervisor/supervisor.ts';
import { prepareDataDirectory, ServerLock } from '../../storage/lmdb/data-directory.ts';
import { clearDataDirectory, removeSocketDirectory } from '../../storage/lmdb/leftovers.ts';
import { makeStore } from '../../storage/lmdb/open-store.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { firstStartNotice, seedFirstStart } from './first-start.ts';
import { supervisedFlag } from './serve-flags.ts';
import {
  announceConsole,
  checkStart,
  consoleUrl,
  dieOfTheUnexpected,
  onHangup,
  refuseStart,
  stopSignal,
} from './serving-end.ts';

export async function serveProcesses(
  context: CommandContext,
  workers: number,
  isDemoAsked: boolean,
): Promise<void> {
  const logging = openLog(context.settings.log);
  dieOfTheUnexpected(logging);
  const stopping = stopSignal(context.clock);
  await checkStart(context);
  const first = await seedFirstStart(context, isDemoAsked, logging.log);
  const { directory } = prepareDataDirectory(context.settings.data.dir);
  const lock = new ServerLock(directory);
  clearDataDirectory(directory);
  process.once('exit', () => {
    removeRuntimeFile(directory);
    lock.release();
  });
  await makeStore(directory);
  const supervisor = await composeSupervisor(context, directory, workers, logging).catch(refuseStart);
  const starting = supervisor.start();
  const asked = await Promise.race([stopping, starting.then(() => null)]).catch(refuseStart);
  starting.catch(() => undefined);
  if (asked === null) {
    announceReady(supervisor, logging, { directory, workers, settings: context.settings });
    if (first !== null)
      process.stderr.write(firstStartNotice(first, directory, consoleUrl(supervisor.listeners)));
  }
  const signal = await stopping;
  logging.log.info({ signal }, 'stopping');
  await supervisor.stop();
  logging.log.info({}, 'stopped');
  await logging.close();
  process.exit(0);
}

async function composeSupervisor(
  { settings, clock }: CommandContext,
  directory: string,
  workers: number,
  { log }: Logging,
): Promise<Supervisor> {
  const listeners = await settlePorts(settings);
  const socketDirectory = makeSocketDirectory(directory);
  const args = [...process.argv.slice(2), supervisedFlag];
  const drainMsMax = Math.max(settings.sleep.drain_deadline_ms, settings.signal.drain_deadline_ms);
  const node = settings.cluster.node_name ?? hostname();
  const supervisor = new Supervisor({
    clock,
    log,
    node,
    workers,
    socketDirectory,
    listeners,
    stopMsMax: drainMsMax + processStopMsMax,
    // Of whatever release it is by then.
    fork: () => forkProcess(process.argv[1] ?? '', args),
    bind: (address, count) => bindSockets(address, count * listenSockets()),
    bindOne: bindSocket,
    passesSockets: process.platform !== 'win32',
  });
  process.once('exit', () => {
    supervisor.kill();
    removeSocketDirectory(directory);
  });
  return supervisor;
}

function announceReady(
  supervisor: Supervisor,
  { log, announce }: Logging,
  { directory, workers, settings }: { directory: string; workers: number; settings: Settings },
): void {
  const { listeners } = supervisor;
  const ofOne = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  log.info(
    { workers, sockets_max: ofOne * workers, of_each: ofOne },
    'the open files limit is that of each process',
  );
  writeRuntimeFile(directory, listeners, settings);
  announce({ listeners }, 'ready');
  announceConsole({ log }, listeners, settings);
  onHangup(() => supervisor.reload());
  process.on('SIGUSR2', () => supervisor.signalUpgrade());
}
