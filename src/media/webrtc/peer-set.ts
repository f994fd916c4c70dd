/**
 * The peers of one media process: as many as the settings say, and of those that are not connected yet as many as one
 * address and all together may have, each for a limited time. Beyond these limits one that is not connected yet ends for
 * a newcomer by the rule of `Crowd`. One timer runs for all of them.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import {
  rtcConnectingMax,
  rtcConnectingPerAddressMax,
  rtcConnectMsMax,
  rtcTickMs,
} from '../../model/media/rtc-limits.ts';
import { addressKey } from '../../lib/connections/address-key.ts';
import { Crowd } from '../../lib/connections/crowd.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import { SharedFeedback } from './feedback-allowance.ts';
import { MediaPeer } from './media-peer.ts';
import { openRtcEngine, type RtcEngine } from './rtc-engine.ts';
import type { RtcOpenRefusal, RtcPeer, RtcPeerOwner, RtcPeers } from './rtc-peer.ts';
import { UdpPorts, type RtcTransportSettings } from './udp-ports.ts';

interface PeerSetSettings {
  readonly findTransport: () => RtcTransportSettings;
  readonly advertise: readonly string[];
  readonly peersMax: number;
  /** Those of one address that are not connected yet. */
  readonly connectingPerAddressMax: number;
}

/**
 * With the library loaded. `settings`: null where WebRTC is switched off. `legs`: of their listener, whose host UDP is bound
 * to, too, and behind a proxy all clients have one address; `findPort`: its port, whose number is taken where the settings
 * name none. Never rejects.
 */
export async function openRtcPeers(
  settings: MediaProcessSettings['webrtc'],
  legs: Pick<MediaProcessSettings['legs'], 'host' | 'handshakesPerAddressMax'>,
  findPort: () => number,
  clock: Clock,
): Promise<RtcPeers> {
  const engine = settings === null ? fail('WebRTC is switched off: media.webrtc') : await openRtcEngine();
  const { ports = null, advertise = [], peersMax = 0 } = settings ?? {};
  const bound = await findBindAddress(legs.host);
  const isProxied = legs.handshakesPerAddressMax === 0;
  const connectingPerAddressMax = isProxied ? rtcConnectingMax : rtcConnectingPerAddressMax;
  const findTransport = (): RtcTransportSettings => {
    const port = findPort();
    return { host: bound, ports: ports ?? { first: port, last: port } };
  };
  return new PeerSet({ findTransport, advertise, peersMax, connectingPerAddressMax }, clock, engine);
}

/** Null: all of them, which is what the library does with none. A name that leads nowhere was refused by the listener before. */
async function findBindAddress(host: string): Promise<string | null> {
  if (host === '0.0.0.0' || host === '::') return null;
  if (isIP(host) !== 0) return host;
  return lookup(host).then(
    ({ address }) => address,
    () => null,
  );
}

class PeerSet implements RtcPeers {
  readonly #settings: PeerSetSettings;
  readonly #clock: Clock;
  /** The error: why there is none. */
  readonly #engine: Result<RtcEngine, string>;
  readonly #ports: UdpPorts | null;
  readonly #feedback: SharedFeedback;
  readonly #peers = new Set<MediaPeer>();
  /** Peers that are not connected yet. */
  readonly #connecting = new Crowd<MediaPeer>();
  #stopTicking: Cancel = () => undefined;

  constructor(settings: PeerSetSettings, clock: Clock, engine: Result<RtcEngine, string>) {
    this.#settings = settings;
    this.#clock = clock;
    this.#feedback = new SharedFeedback(clock.monotonicMs());
    this.#engine = engine;
    this.#ports = engine.ok ? new UdpPorts(engine.value, settings.findTransport) : null;
  }

  get count(): number {
    return this.#peers.size;
  }

  get missing(): string | null {
    return this.#engine.ok ? null : this.#engine.error;
  }

  open(address: string, owner: RtcPeerOwner): Result<RtcPeer, RtcOpenRefusal> {
    if (!this.#engine.ok || this.#ports === null) return fail('unavailable');
    const group = addressKey(address);
    if (!this.#makeRoom(group)) return fail('busy');
    const peer: MediaPeer = new MediaPeer({
      clock: this.#clock,
      engine: this.#engine.value,
      ports: this.#ports,
      advertise: this.#settings.advertise,
      owner,
      feedback: this.#feedback,
      onConnected: () => settle(),
      onEnd: () => {
        settle();
        this.#remove(peer);
      },
    });
    const giveUp = this.#clock.after(rtcConnectMsMax, () =>
      peer.end(`no connection was made within ${rtcConnectMsMax / 1000} s`, 'unmade'),
    );
    const settle = (): void => {
      giveUp();
      this.#connecting.delete(group, peer);
    };
    this.#connecting.add(group, peer, this.#clock.monotonicMs());
    this.#add(peer);
    return succeed(peer);
  }

  close(): void {
    for (const peer of this.#peers) peer.end('the server is stopping');
    this.#ports?.close();
  }

  #makeRoom(group: string): boolean {
    const { peersMax, connectingPerAddressMax: perAddressMax } = this.#settings;
    const max = this.#peers.size < peersMax ? rtcConnectingMax : 0;
    return this.#connecting.makeRoom(group, this.#clock.monotonicMs(), { max, perAddressMax }, (peer) =>
      peer.end('too many connections are being made, and another one took its place', 'unmade'),
    );
  }

  #add(peer: MediaPeer): void {
    if (this.#peers.size === 0) this.#stopTicking = this.#clock.every(rtcTickMs, () => this.#tick());
    this.#peers.add(peer);
  }

  #tick(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const peer of this.#peers) peer.tick(nowMs);
  }

  #remove(peer: MediaPeer): void {
    this.#peers.delete(peer);
    if (this.#peers.size === 0) this.#stopTicking();
  }
}
