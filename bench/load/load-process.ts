/** The process that plays backends and devices: everything that loads a server runs here, away from its processor. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet } from './fleet.ts';
import { HttpConnection, type HttpAnswer } from './http-connection.ts';
import { HttpLoad, type LoadShape } from './http-load.ts';
import { answerQuestions } from './ipc.ts';
import { LatencyRecorder } from './latency.ts';
import { loadService, type LoadProtocol, type WakeReading } from './load-protocol.ts';
import { backendCredential, neighbourCredential } from './population.ts';
import { range, signAsked, signBatches, signWakeups, type RequestSet } from './signed-requests.ts';
import { WakeWatch } from './wake-watch.ts';

const fleet = new Fleet();
let queries: HttpLoad | null = null;
let batches: HttpLoad | null = null;
let wakeups: RequestSet | null = null;
let wakeupsUsed = 0;

async function wakeAtRate(shape: LoadShape): Promise<WakeReading> {
  const watch = new WakeWatch(fleet);
  const count = Math.floor(shape.seconds * (shape.ratePerSecond ?? 0));
  const load = new HttpLoad(takeWakeups(count), (device, dueMs) => watch.expect(device, dueMs));
  return watch.read(await load.run(shape));
}

/** A packet that has not come by then is missing, and the next wakeup is sent. */
const packetMsMax = 2000;

/** Each is sent when the one before has been answered and its packet has come. */
async function wakeOneByOne({
  port,
  count,
  heldBy,
}: LoadProtocol['wakeOneByOne']['take']): Promise<WakeReading> {
  const watch = new WakeWatch(fleet);
  const { bytes, devices, goodStatus } = takeWakeups(count);
  const [connection] = await HttpConnection.openSome(port, 1, heldBy);
  if (connection === undefined) throw new Error('no connection to wake over');
  const answers = new LatencyRecorder();
  const startMs = performance.now();
  let wrong = 0;
  let firstWrong: string | null = null;
  for (const [place, request] of bytes.entries()) {
    const answered = new Promise<HttpAnswer>((resolve, reject) => connection.listen(resolve, reject));
    const arrived = watch.next();
    const sentMs = performance.now();
    watch.expect(devices[place] ?? 0, sentMs);
    connection.send(request);
    const { status, text } = await answered;
    answers.add(performance.now() - sentMs);
    if (status === goodStatus) {
      await Promise.race([arrived, sleep(packetMsMax)]);
    } else {
      wrong += 1;
      firstWrong ??= text;
    }
  }
  connection.close();
  const seconds = (performance.now() - startMs) / 1000;
  const reading = { seconds, ratePerSecond: count / seconds, latency: answers.read(), wrong, firstWrong };
  return watch.read(reading);
}

/** Never one that was sent before: it would be a repeat, which wakes nobody. */
function takeWakeups(count: number): RequestSet {
  const from = wakeupsUsed;
  wakeupsUsed += count;
  if (wakeups === null || wakeupsUsed > wakeups.bytes.length) throw new Error('too few wakeups were signed');
  const { bytes, devices, marks, goodStatus } = wakeups;
  return {
    bytes: bytes.slice(from, wakeupsUsed),
    devices: devices.slice(from, wakeupsUsed),
    marks: marks.slice(from, wakeupsUsed),
    goodStatus,
  };
}

function signed(load: HttpLoad | null): HttpLoad {
  if (load === null) throw new Error('no queries were signed');
  return load;
}

answerQuestions<LoadProtocol>(loadService, {
  login: (plan) => fleet.login(plan),
  heartbeats: (seconds) => fleet.heartbeats(seconds),
  heartbeatCalmly: ({ seconds, everySeconds }) => fleet.heartbeatCalmly(seconds, everySeconds),
  devicesAt: ({ pid, port }) => fleet.devicesAt(pid, port),
  lost: () => fleet.lost,
  signQueries: ({ kind, devices, dates }) => {
    queries = new HttpLoad(signAsked(kind, devices, dates));
    globalThis.gc?.();
    return null;
  },
  query: (shape) => signed(queries).run(shape),
  signBatches: ({ devices, dates }) => {
    batches = new HttpLoad(signBatches(devices, dates));
    globalThis.gc?.();
    return null;
  },
  queryBatches: (shape) => signed(batches).run(shape),
  signWakeups: ({ devices, count, isNeighbour = false }) => {
    const credential = isNeighbour ? neighbourCredential : backendCredential;
    wakeups = signWakeups(typeof devices === 'number' ? range(devices) : devices, count, credential);
    wakeupsUsed = 0;
    globalThis.gc?.();
    return null;
  },
  wakeAtRate,
  wakeOneByOne,
});
