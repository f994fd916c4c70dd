/** The flooding process: sends as fast as the server reads, and reopens closed connections. */
import { setTimeout as sleep } from 'node:timers/promises';
import { flood, floodKinds, type FloodKind, type FloodTargets } from '../../test/support/floods.ts';
import { answerQuestions } from '../harness/ipc.ts';

interface FloodPlan {
  readonly name: FloodKind['name'];
  readonly targets: FloodTargets;
  /** Concurrent connections. */
  readonly connections: number;
  readonly seconds: number;
}

/** `closed`: number of connections closed by the server. */
interface FloodReading {
  readonly bytes: number;
  readonly closed: number;
}

export type FloodProtocol = { flood: { take: FloodPlan; give: FloodReading } };

/** Pause after a failed connection, because local ports run out. */
const afterRefusalMs = 5;

async function floodFor({ name, targets, connections, seconds }: FloodPlan): Promise<FloodReading> {
  const kind = floodKinds.find((each) => each.name === name);
  if (kind === undefined) throw new Error(`no such flood: ${name}`);
  const reading = { bytes: 0, closed: 0 };
  const endMs = performance.now() + seconds * 1000;
  const until = sleep(seconds * 1000);
  const one = async (): Promise<void> => {
    while (performance.now() < endMs)
      try {
        const { by, bytesSent } = await flood(kind, targets, { bytesMax: Infinity, until });
        reading.bytes += bytesSent;
        if (by === 'server') reading.closed += 1;
      } catch {
        await sleep(afterRefusalMs);
      }
  };
  await Promise.race([Promise.all(Array.from({ length: connections }, one)), until.then(() => sleep(500))]);
  return reading;
}

answerQuestions<FloodProtocol>({ flood: floodFor });
