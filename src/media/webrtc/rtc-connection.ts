/**
 * The transport of one peer: ICE, DTLS, SRTP and data channels of the library. The library is given a description of our
 * own making, with one media section whatever the client offered: it then hands over every packet that its keys open, and
 * reads nothing that a stranger wrote. The client's candidates are not given to it at all: a client reaches this server at
 * the server's candidates and is answered where it came from, so nobody can make the server send anywhere else.
 */
import type { DataChannel, PeerConnection, Track } from 'node-datachannel';
import type { LocalTransport } from '../../protocol/sdp/media-answer.ts';
import type { DtlsParameters, IceCredentials } from '../../protocol/sdp/offered-transport.ts';
import { attributesOf, parseSessionDescription, valueOf } from '../../protocol/sdp/session-description.ts';
import { closeConnection, makeConnection, type RtcEngine } from './rtc-engine.ts';
import type { UdpPort } from './udp-ports.ts';

export interface RtcConnectionOwner {
  /** RTP or RTCP, in memory of its own. */
  packet(bytes: Buffer): void;
  /** The client opened it. */
  channel(channel: DataChannel): void;
  connected(): void;
  /** Once: the client has ended it, or does not answer. */
  ended(): void;
}

export interface RemoteTransport {
  readonly ice: IceCredentials;
  readonly dtls: DtlsParameters;
  readonly hasMedia: boolean;
  readonly channels: { readonly sctpPort: number; readonly messageBytesMax: number } | null;
}

/** Of a message on a data channel, and what is announced to the client for its own. */
export const channelMessageBytesMax = 256 * 1024;

export class RtcConnection {
  readonly #connection: PeerConnection;
  readonly #owner: RtcConnectionOwner;
  #track: Track | null = null;
  #stage: 'new' | 'connected' | 'closed' = 'new';
  /** Of the start that is under way. */
  #giveUp: (error: Error) => void = () => undefined;

  /** Throws when the library cannot. */
  constructor(engine: RtcEngine, { host, port, isShared }: UdpPort, owner: RtcConnectionOwner) {
    this.#owner = owner;
    this.#connection = makeConnection(engine, {
      iceServers: [],
      disableAutoNegotiation: true,
      enableIceUdpMux: isShared,
      portRangeBegin: port,
      portRangeEnd: port,
      maxMessageSize: channelMessageBytesMax,
      ...(host === null ? {} : { bindAddress: host }),
    });
  }

  /** Once. Rejects, with the library's reason, when it cannot or is closed before. */
  start(remote: RemoteTransport): Promise<LocalTransport> {
    const connection = this.#connection;
    connection.onStateChange((state) => this.#changed(state));
    connection.onTrack((track) => this.#takeTrack(track));
    connection.onDataChannel((channel) => {
      if (this.#stage === 'closed') dismiss(channel);
      else this.#owner.channel(channel);
    });
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      connection.onGatheringStateChange((state) => {
        if (state !== 'complete' || this.#stage === 'closed') return;
        const local = readLocal(connection.localDescription()?.sdp ?? '');
        if (local === null) reject(new Error('the library has no description of its own'));
        else resolve(local);
      });
      connection.setRemoteDescription(describe(remote), 'offer');
      connection.setLocalDescription('answer');
    });
  }

  /** False: it is not connected, or the network takes nothing. */
  send(packet: Buffer): boolean {
    return this.#stage === 'connected' && this.#track !== null && trySend(this.#track, packet);
  }

  openChannel(label: string): DataChannel {
    return this.#connection.createDataChannel(label);
  }

  close(): void {
    if (this.#stage === 'closed') return;
    this.#stage = 'closed';
    // Else its calls are held until the garbage collector comes.
    this.#track?.close();
    this.#giveUp(new Error('it was closed'));
    closeConnection(this.#connection);
  }

  #takeTrack(track: Track): void {
    if (this.#stage === 'closed') {
      track.close();
      return;
    }
    this.#track = track;
    // The library frees the track behind this call, and only if somebody asked for it.
    track.onClosed(() => undefined);
    track.onMessage((packet) => {
      if (this.#stage !== 'closed') this.#owner.packet(packet);
    });
  }

  #changed(state: string): void {
    if (this.#stage === 'closed') return;
    if (state === 'connected' && this.#stage === 'new') {
      this.#stage = 'connected';
      this.#owner.connected();
    } else if (state === 'failed' || state === 'disconnected' || state === 'closed') {
      this.close();
      this.#owner.ended();
    }
  }
}

interface LibrarySender {
  isOpen(): boolean;
  sendMessageBinary(bytes: Uint8Array): boolean;
}

/** False: it is not open, or takes nothing. The library throws where a thread of its own closes it at this moment. */
export function trySend(to: LibrarySender, bytes: Uint8Array): boolean {
  try {
    return to.isOpen() && to.sendMessageBinary(bytes);
  } catch {
    return false;
  }
}

/** Closes one that nobody wants. The library frees it behind its last call, and only if somebody asked for that. */
export function dismiss(channel: DataChannel): void {
  channel.onClosed(() => undefined);
  channel.close();
}

/** One media section, `m`, that stands for all, and one of data channels, `d`. */
function describe({ ice, dtls, hasMedia, channels }: RemoteTransport): string {
  const mids = [...(hasMedia ? ['m'] : []), ...(channels === null ? [] : ['d'])];
  const lines = [
    'v=0',
    'o=- 1 1 IN IP4 0.0.0.0',
    's=-',
    't=0 0',
    `a=group:BUNDLE ${mids.join(' ')}`,
    `a=ice-ufrag:${ice.ufrag}`,
    `a=ice-pwd:${ice.password}`,
    'a=ice-options:trickle',
    `a=fingerprint:${dtls.fingerprintAlgorithm} ${dtls.fingerprint}`,
    `a=setup:${dtls.setup}`,
  ];
  if (hasMedia)
    lines.push(
      'm=video 9 UDP/TLS/RTP/SAVPF 96',
      'c=IN IP4 0.0.0.0',
      'a=mid:m',
      'a=sendrecv',
      'a=rtcp-mux',
      'a=rtpmap:96 H264/90000',
    );
  if (channels !== null)
    lines.push(
      'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
      'c=IN IP4 0.0.0.0',
      'a=mid:d',
      `a=sctp-port:${channels.sctpPort}`,
      `a=max-message-size:${channels.messageBytesMax}`,
    );
  return lines.map((line) => `${line}\r\n`).join('');
}

/** Null: not as the library writes it. */
function readLocal(text: string): LocalTransport | null {
  const parsed = parseSessionDescription(text);
  const section = parsed.ok ? parsed.value.sections[0] : undefined;
  if (!parsed.ok || section === undefined) return null;
  const levels = [section.attributes, parsed.value.attributes];
  const [ufrag, password, fingerprint, setup] = ['ice-ufrag', 'ice-pwd', 'fingerprint', 'setup'].map((name) =>
    valueOf(levels, name),
  );
  if (!ufrag || !password || !fingerprint || !setup) return null;
  return {
    ufrag,
    password,
    fingerprint,
    setup,
    candidates: attributesOf(levels, 'candidate').map(({ value }) => value),
  };
}
