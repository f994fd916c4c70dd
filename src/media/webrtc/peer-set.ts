/**
 * The peers of one media process: bounded in number by the settings; those not connected yet are also bounded by address and in all,
 * each for a limited time. Beyond these limits a newcomer evicts one that is not connected yet, by the rule of `Crowd`. One timer serves
 * all peers.
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
  /** Maximum of peers per address that are not connected yet. */
  readonly connectingPerAddressMax: number;
}

/**
 * Loads the library. `settings`: null if WebRTC is disabled. `legs`: settings of the listener, whose host UDP is bound to as well;
 * behind a proxy all clients have one address. `findPort`: the listener's port, used for UDP if the settings name none. Never rejects.
 */
export async function openRtcPeers(
  settings: MediaProcessSettings['webrtc'],
  legs: Pick<MediaProcessSettings['legs'], 'host' | 'handshakesPerAddressMax'>,
  findPort: () => number,
  clock: Clock,
): Promise<RtcPeers> {
  const engine =
    settings === null ? fail('no WebRTC: it is disabled by media.webrtc') : await openRtcEngine();
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

/** Null: all addresses, the library's default. The listener has already rejected a host name that does not resolve. */
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
  /** The error: why WebRTC is unavailable. */
  readonly #engine: Result<RtcEngine, string>;
  readonly #ports: UdpPorts | null;
  readonly #feedback: SharedFeedback;
  readonly #peers = new Set<MediaPeer>();
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
      onConnected: () => leaveConnecting(),
      onEnd: () => {
        leaveConnecting();
        this.#remove(peer);
      },
    });
    const giveUp = this.#clock.after(rtcConnectMsMax, () =>
      peer.end(`no connection was made within ${rtcConnectMsMax / 1000} s`, 'unmade'),
    );
    const leaveConnecting = (): void => {
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
      peer.end('too many connections are being established, and a newer one replaced it', 'unmade'),
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
