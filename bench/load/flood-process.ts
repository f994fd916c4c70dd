/** The process that floods: as fast as the server reads, on connections that are made anew whenever it closes one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { flood, floodKinds } from '../../test/support/floods.ts';
import { floodService, type FloodPlan, type FloodProtocol, type FloodReading } from './flood-protocol.ts';
import { answerQuestions } from './ipc.ts';

/** After a connection that could not be made: ports run out, and the flood is to last. */
const afterRefusalMs = 5;

async function floodFor({ name, targets, connections, seconds }: FloodPlan): Promise<FloodReading> {
  const kind = floodKinds.find((each) => each.name === name);
  if (kind === undefined) throw new Error(`no such flood: ${name}`);
  const reading = { bytes: 0, closed: 0, refused: 0 };
  const endMs = performance.now() + seconds * 1000;
  const until = sleep(seconds * 1000);
  const one = async (): Promise<void> => {
    while (performance.now() < endMs)
      try {
        const { by, bytesSent } = await flood(kind, targets, { bytesMax: Infinity, until });
        reading.bytes += bytesSent;
        if (by === 'server') reading.closed += 1;
      } catch {
        reading.refused += 1;
        await sleep(afterRefusalMs);
      }
  };
  await Promise.race([Promise.all(Array.from({ length: connections }, one)), until.then(() => sleep(500))]);
  return reading;
}

answerQuestions<FloodProtocol>(floodService, { flood: floodFor });
