/**
 * A WebRTC client of another stack, werift: it offers, sends the packets of a test and records what it receives. Also opens the
 * peers under test, on a UDP port of loopback, and records their notifications.
 */
import { createSocket } from 'node:dgram';
import { EventEmitter, once } from 'node:events';
import type { TestContext } from 'node:test';
import {
  MediaStreamTrack,
  RTCPeerConnection,
  RtpHeader,
  RtpPacket,
  useH264,
  useOPUS,
  type RTCDataChannel,
  type RtcpPacket,
} from 'werift';
import type { Clock } from '../../src/lib/clock.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { RtcPeer, RtcPeerOwner, RtcPeers } from '../../src/media/webrtc/rtc-peer.ts';
import { openRtcPeers } from '../../src/media/webrtc/peer-set.ts';
import type { RtcTransportSettings } from '../../src/media/webrtc/udp-ports.ts';
import { findFreePort } from './free-port.ts';
import { hangMsMax } from './hang-limit.ts';
import type { KeptOwner } from './kept-rtc-owner.ts';

/** Opens peers on a port of their own; closed with the test. */
export async function openPeers(
  t: Pick<TestContext, 'after'>,
  peersMax = 10,
  clock: Clock = new SystemClock(),
  range?: RtcTransportSettings['ports'],
): Promise<RtcPeers> {
  const port = await findFreePort('127.0.0.1');
  const settings = { ports: range ?? null, advertise: [], peersMax };
  const legs = { host: '127.0.0.1', handshakesPerAddressMax: 1 };
  const peers = await openRtcPeers(settings, legs, () => port, clock);
  t.after(() => peers.close());
  return peers;
}

export function openPeer(peers: RtcPeers, owner: RtcPeerOwner): RtcPeer {
  const opened = peers.open('127.0.0.1', owner);
  if (!opened.ok) throw new Error(opened.error);
  return opened.value;
}

/** werift queries a public STUN server by default; this one answers at once with an error. */
async function openStunServer(t: Pick<TestContext, 'after'>): Promise<number> {
  const socket = createSocket('udp4');
  socket.on('message', (request, { port, address }) => {
    const refusal = Buffer.from(request.subarray(0, 20));
    refusal.writeUInt16BE(0x0111, 0);
    refusal.writeUInt16BE(0, 2);
    socket.send(refusal, port, address);
  });
  t.after(() => socket.close());
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket.address().port;
}

/** Receives messages instead of recording them. */
export interface RtcClientSink {
  packet(kind: string, packet: RtpPacket): void;
  message(label: string, bytes: Buffer): void;
}

export class RtcClient {
  readonly connection: RTCPeerConnection;
  readonly video = new MediaStreamTrack({ kind: 'video' });
  readonly audio = new MediaStreamTrack({ kind: 'audio' });
  /** Received payloads by kind, in hex, and messages by the label of their channel. */
  readonly came: string[] = [];
  readonly packets: { readonly kind: string; readonly packet: RtpPacket }[] = [];
  readonly #sink: RtcClientSink;
  readonly #channels = new Map<string, RTCDataChannel>();
  readonly #events = new EventEmitter();

  /** Sound and pictures in both directions, and channels with these labels. */
  static async open(
    t: Pick<TestContext, 'after'>,
    labels: readonly string[] = ['pictures', 'commands'],
    sink?: RtcClientSink,
  ): Promise<RtcClient> {
    const client = new RtcClient(await openStunServer(t), labels, sink);
    t.after(() => client.connection.close());
    return client;
  }

  private constructor(stunPort: number, labels: readonly string[], sink?: RtcClientSink) {
    this.#sink = sink ?? {
      packet: (kind, packet) => this.#keepPacket(kind, packet),
      message: (label, bytes) => this.#keep(`${label} ${bytes.toString('hex')}`),
    };
    this.connection = new RTCPeerConnection({
      bundlePolicy: 'max-bundle',
      iceUseIpv6: false,
      iceServers: [{ urls: `stun:127.0.0.1:${stunPort}` }],
      codecs: { video: [useH264()], audio: [useOPUS()] },
    });
    for (const track of [this.video, this.audio]) {
      const transceiver = this.connection.addTransceiver(track, { direction: 'sendrecv' });
      transceiver.onTrack.subscribe((incoming) => {
        incoming.onReceiveRtp.subscribe((packet) => this.#sink.packet(track.kind, packet));
      });
    }
    this.connection.onDataChannel.subscribe((channel) => this.#adoptChannel(channel));
    for (const label of labels) this.openChannel(label);
  }

  openChannel(label: string): void {
    this.#adoptChannel(this.connection.createDataChannel(label));
  }

  async offer(): Promise<string> {
    await this.connection.setLocalDescription(await this.connection.createOffer());
    return this.connection.localDescription?.sdp ?? '';
  }

  /** Offers, applies the answer, and waits until the peer's owner is notified of the connection. */
  async connect(peer: RtcPeer, owner: KeptOwner): Promise<void> {
    const answer = await peer.answer(await this.offer());
    if (!answer.ok) throw new Error(answer.error.sentence);
    await this.connection.setRemoteDescription({ type: 'answer', sdp: answer.value });
    await owner.untilRecorded('connected');
  }

  sendVideo(sequence: number, timestamp: number, payload: Buffer, marker = true): void {
    const header = new RtpHeader({ payloadType: 96, sequenceNumber: sequence, timestamp, marker });
    this.video.writeRtp(new RtpPacket(header, payload));
  }

  sendAudio(sequence: number, timestamp: number, payload: Buffer): void {
    const header = new RtpHeader({ payloadType: 97, sequenceNumber: sequence, timestamp });
    this.audio.writeRtp(new RtpPacket(header, payload));
  }

  send(label: string, message: Buffer): void {
    this.#channels.get(label)?.send(message);
  }

  /** Sends feedback about the stream of the last packet. */
  async feedBack(
    make: (last: { readonly ssrc: number; readonly sequence: number }) => RtcpPacket[],
  ): Promise<void> {
    const header = this.packets.at(-1)?.packet.header;
    if (header === undefined) throw new Error('nothing came');
    const [transport] = this.connection.dtlsTransports;
    await transport?.sendRtcp(make({ ssrc: header.ssrc, sequence: header.sequenceNumber }));
  }

  /** Port in the answer's candidate. */
  get remotePort(): number {
    return Number(/^a=candidate:(?:\S+ ){5}(\d+)/m.exec(this.connection.remoteDescription?.sdp ?? '')?.[1]);
  }

  /** Resolves when the line was recorded; a hang rejects with everything recorded instead. */
  async until(line: string): Promise<void> {
    const signal = AbortSignal.timeout(hangMsMax);
    while (!this.came.includes(line))
      await once(this.#events, 'came', { signal }).catch(() => {
        throw new Error(`no "${line}" came, only ${JSON.stringify(this.came)}`);
      });
  }

  #adoptChannel(channel: RTCDataChannel): void {
    // The server opens one of each label, too; the client's own takes precedence.
    if (!this.#channels.has(channel.label)) this.#channels.set(channel.label, channel);
    channel.onMessage.subscribe((message) => this.#sink.message(channel.label, Buffer.from(message)));
  }

  #keepPacket(kind: string, packet: RtpPacket): void {
    this.packets.push({ kind, packet });
    this.#keep(`${kind} ${packet.payload.toString('hex')}`);
  }

  #keep(line: string): void {
    this.came.push(line);
    this.#events.emit('came');
  }
}
