/** Figure: what the transport of a leg costs a core, by WebSocket and by WebRTC, with the same frames. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, serverCore } from './child.ts';
import { connectPeer, connectSocket, type EchoClient } from './echo-clients.ts';
import { echoService, type EchoProtocol } from './echo-protocol.ts';
import type { Figure } from './figure.ts';
import { framesPerSecond } from './legs-protocol.ts';
import { Pace } from './pace.ts';
import type { Plan } from './plan.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { Trouble } from './trouble.ts';

const transports = ['WebSocket', 'WebRTC'] as const;
type Transport = (typeof transports)[number];

const packetsPerSecond = 50;
/** 500 kbit/s of H.264, and Opus at 24 kbit/s. */
const frameBytes = 4167;
const packetBytes = 60;
const settleMs = 1000;

export async function measureLegTransports({ runs, legTransports: plan }: Plan): Promise<Figure> {
  const [samples, trouble] = [new Samples(), new Trouble()];
  await interleave(transports, runs, async (transport) => {
    const child = new Child({ entry: new URL('./echo-process.ts', import.meta.url), core: serverCore });
    try {
      await measure(transport, plan, child, samples, trouble);
    } finally {
      await child.stop();
    }
  });
  return {
    name: 'leg-transports',
    title: 'What the transport of a leg costs',
    notes: [
      `${plan.legs} legs in one process, each with ${framesPerSecond} frames of H.264 a second, ${frameBytes} bytes each, and ` +
        `${packetsPerSecond} packets of sound; each is read as a frame and sent back. Nothing is decoded. ` +
        'CPU is that of the whole process, memory what it grew by.',
    ],
    columns: [
      { metric: 'cpuPercent', title: '% of a core a leg', digits: 2 },
      { metric: 'kilobytes', title: 'KB a leg', digits: 0 },
    ],
    samples,
    targets: [
      {
        what: 'WebRTC / WebSocket, CPU',
        measured: samples.compare('cpuPercent', 'WebRTC', 'WebSocket', ratio),
        bound: null,
        digits: 1,
      },
    ],
    trouble: trouble.list,
  };
}

async function measure(
  transport: Transport,
  { legs, seconds }: Plan['legTransports'],
  child: Child,
  samples: Samples,
  trouble: Trouble,
): Promise<void> {
  const echo = child.service<EchoProtocol>(echoService);
  const port = await echo.ask('listen', null);
  const before = await echo.ask('spent', null);
  const clients: EchoClient[] = [];
  for (let i = 0; i < legs; i += 1)
    clients.push(
      transport === 'WebSocket'
        ? await connectSocket(port)
        : await connectPeer((offer) => echo.ask('answer', offer)),
    );
  const stop = play(clients);
  await sleep(settleMs);
  const [start, startedMs] = [await echo.ask('spent', null), performance.now()];
  await sleep(seconds * 1000);
  const end = await echo.ask('spent', null);
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  stop();
  if (clients.some(({ came }) => came < frameBytes * seconds))
    trouble.add(`${transport}: a leg had no frames back`);
  for (const client of clients) client.close();
  samples.add(transport, {
    cpuPercent: ((end.cpuSeconds - start.cpuSeconds) / elapsedSeconds / legs) * 100,
    kilobytes: (end.bytes - before.bytes) / legs / 1024,
  });
}

/** Frames evenly over the time, the legs in turn. */
function play(clients: readonly EchoClient[]): () => void {
  const unit = Buffer.alloc(frameBytes, 0xaa);
  unit[0] = 0x65;
  const packet = Buffer.alloc(packetBytes, 0xaa);
  const sent = { frames: 0, packets: 0 };
  const frames = new Pace(framesPerSecond * clients.length, () => {
    const time = Math.round((Math.floor(sent.frames / clients.length) * 1000) / framesPerSecond);
    clients[sent.frames % clients.length]?.sendVideo(unit, time);
    sent.frames += 1;
  });
  const packets = new Pace(packetsPerSecond * clients.length, () => {
    const time = (Math.floor(sent.packets / clients.length) * 1000) / packetsPerSecond;
    clients[sent.packets % clients.length]?.sendAudio(packet, time);
    sent.packets += 1;
  });
  return () => {
    frames.stop();
    packets.stop();
  };
}
