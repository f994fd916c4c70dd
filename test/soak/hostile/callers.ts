/** Attacks on the media process by legs of another application's own calls. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { GenericNack, RtcpTransportLayerFeedback } from 'werift';
import { openEngine, type Engine } from '../../../src/media/codec/engine.ts';
import type { SourceFrame } from '../../../src/model/media/picture.ts';
import { BridgeLeg, DeviceLeg } from '../../../src/tools/simulator/media-leg.ts';
import { ApiClient } from '../../support/api-client.ts';
import { issueCall } from '../../support/call-actions.ts';
import { hostileOffers } from '../../support/hostile-offers.ts';
import {
  h264Key,
  h264OfSlices,
  h264Overdue,
  h265OfSlices,
  jpegOfHeaders,
  jpegOfScans,
  tinyH265Set,
} from '../../support/hostile-pictures.ts';
import { untouchedFrame, untouchedVideo } from '../../support/media-process-scene.ts';
import { RtcClient } from '../../support/rtc-client.ts';
import type { ListenerPorts } from '../../support/server-process.ts';
import { lastFirst } from '../../support/temporary-store.ts';
import { videoFormats, wireFrame } from '../../support/wire-call.ts';
import { repeat, type Attack, type Tally } from './attack.ts';
import { attacker, attackerDevice } from './registry.ts';

const [offeringDevice, feedingDevice, firstShowingDevice] = [30, 31, 32];
/** Not that of the site's backend: the API bounds the new connections of an address. */
const localAddress = '127.0.16.1';
const size = { width: 240, height: 320 };
const lostPerNack = 200;
const offersApartMs = 60;
/** Among the crowds, a connection may be lost in the kernel's queue of the listener, and no answer comes. */
const offerMsMax = 5000;

interface Placed {
  readonly ports: ListenerPorts;
  readonly token: string;
  readonly session: string;
}

async function issue(ports: ListenerPorts, device: number, change: object = {}): Promise<Placed> {
  const api = new ApiClient(ports.api, attacker.credential, Date.now, { localAddress });
  try {
    return { ports, ...(await issueCall({ api }, { device_id: attackerDevice(device), ...change })) };
  } finally {
    api.close();
  }
}

function mediaUrl({ media }: ListenerPorts, scheme: 'ws' | 'http' = 'ws'): string {
  return `${scheme}://127.0.0.1:${media}`;
}

async function joinBridge({ ports, session }: Placed): Promise<BridgeLeg> {
  const bridge = await BridgeLeg.connect({ url: mediaUrl(ports), key: attacker.bridgeKey, session });
  await bridge.next('start');
  return bridge;
}

async function whileOpen(bridge: BridgeLeg, run: (round: number) => Promise<void>): Promise<void> {
  const gone = new AbortController();
  void bridge.closed.then(() => gone.abort());
  for (let round = 0; !gone.signal.aborted; round += 1) await run(round);
}

function postOffer(ports: ListenerPorts, token: string, body: string): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/sdp' };
  const signal = AbortSignal.timeout(offerMsMax);
  return fetch(`${mediaUrl(ports, 'http')}/media/v1/whip`, { method: 'POST', headers, body, signal });
}

const offers: Attack = (ports, tally) => {
  const bodies = [...hostileOffers.values()];
  repeat(tally, 1, async () => {
    const { token } = await issue(ports, offeringDevice);
    for (let status = 0; status !== 401; tally.done += 1) {
      await postOffer(ports, 'a wrong token', bodies[tally.done % bodies.length] ?? '');
      ({ status } = await postOffer(ports, token, bodies[tally.done % bodies.length] ?? ''));
      await sleep(offersApartMs);
    }
  });
};

/** Requests retransmission of every received packet, repeatedly. */
const feedback: Attack = (ports, tally) =>
  repeat(tally, 1, async () => {
    const ends: (() => unknown)[] = [];
    const ending = lastFirst({ after: (end) => void ends.push(end) });
    try {
      const placed = await issue(ports, feedingDevice, untouchedVideo);
      const bridge = await joinBridge(placed);
      ending.after(async () => void (await bridge.terminate()));
      const client = await RtcClient.open(ending);
      const answer = await postOffer(ports, placed.token, await client.offer());
      await client.connection.setRemoteDescription({ type: 'answer', sdp: await answer.text() });
      await whileOpen(bridge, async (round) => {
        bridge.frame(untouchedFrame(round * 100));
        await bridge.ping();
        if (client.packets.length > 0) await floodFeedback(client, tally);
      });
    } finally {
      for (const end of ends) await end();
    }
  });

async function floodFeedback(client: RtcClient, tally: Tally): Promise<void> {
  client.came.length = 0;
  client.packets.splice(0, client.packets.length - 1);
  await client.feedBack(({ ssrc, sequence: last }) => {
    const lost = Array.from({ length: lostPerNack }, (_, index) => (last - index) & 0xffff);
    const nack = new GenericNack({ senderSsrc: 1, mediaSourceSsrc: ssrc, lost });
    return [new RtcpTransportLayerFeedback({ feedback: nack })];
  });
  tally.done += 1;
}

interface Show {
  readonly apartMs: number;
  readonly frames: readonly SourceFrame[];
}

function showsOf(engine: Engine): readonly Show[] {
  const slices = (count: number): number[] => [0, ...Array<number>(count).fill(1)];
  return [
    { apartMs: 1000, frames: [jpegOfScans(80_000)] },
    { apartMs: 1000, frames: [jpegOfHeaders(60_000)] },
    { apartMs: 500, frames: [h264Key(), h264OfSlices(1, slices(10_000))] },
    { apartMs: 500, frames: h265OfSlices(engine, slices(2000), tinyH265Set(engine)) },
    { apartMs: 1000, frames: [h264Key(), h264Overdue(1)] },
    // Small messages, each within the limits.
    { apartMs: 100, frames: [jpegOfScans(30)] },
    { apartMs: 100, frames: [h264Key(), h264OfSlices(1, slices(39))] },
  ];
}

async function playShow(placed: Placed, { apartMs, frames }: Show, tally: Tally): Promise<void> {
  const device = await DeviceLeg.connect({ url: mediaUrl(placed.ports), token: placed.token });
  const bridge = await joinBridge(placed);
  await whileOpen(bridge, async (sent) => {
    const frame = frames[sent % frames.length];
    assert(frame !== undefined);
    const header = { format: videoFormats[frame.format], timestamp: sent * apartMs, ...size };
    bridge.frame(wireFrame(header, frame.payload));
    await bridge.ping();
    tally.done += 1;
    await sleep(apartMs);
  });
  device.hangup();
  await Promise.all([device.terminate(), bridge.terminate()]);
}

const pictures: Attack = (ports, tally) => {
  void openEngine().then((engine) => {
    assert(engine.ok);
    const shows = showsOf(engine.value);
    repeat(tally, shows.length, async (index) => {
      const show = shows[index];
      assert(show !== undefined);
      await playShow(await issue(ports, firstShowingDevice + index), show, tally);
    });
  });
};

export const callers = { offers, feedback, pictures };
