/** Storm of bridges: the media process dies, and all that were idle at it come back to its successor. */
import { bridgeKey } from './played-call.ts';
import { familyOf } from './family.ts';
import { startPromptPlayers } from './players.ts';
import { childOf } from './process-time.ts';
import { tellProgress } from './progress.ts';
import { measureReturn, signQueries, startStormProcess, type StormStudy } from './reconnect-storm.ts';
import { startReveille } from './servers.ts';
import type { Manner } from './storm-protocol.ts';

/** Of those that a backend asks about meanwhile. */
const devices = 100;

export async function measureBridges(row: string, manner: Manner, study: StormStudy): Promise<void> {
  const { bridges } = study.plan;
  const env = { REVEILLE_MEDIA_PROCESS: 'child', REVEILLE_MEDIA_BRIDGE_KEYS: bridgeKey };
  const server = await startReveille({ devices, env });
  const farm = startStormProcess('bridge-storm-process.ts');
  const backend = startPromptPlayers();
  try {
    await farm.service.ask('start', {
      port: server.mediaPort,
      from: 0,
      count: bridges,
      devices: bridges,
      manner,
      calmPerSecond: bridges,
    });
    await signQueries(backend, devices);
    tellProgress(`${row}: the media process is killed`);
    const [relative] = await familyOf(server);
    if (relative === undefined) throw new Error('a server that is up has a process');
    process.kill(childOf(relative.pid, 'media/process/main'), 'SIGKILL');
    await farm.service.ask('lost', null);
    await farm.service.ask('mark', null);
    await measureReturn(row, [farm], { server, backend, study, sessions: bridges });
  } finally {
    await server.stop();
    await Promise.all([farm.child.stop(), backend.child.stop()]);
  }
}
