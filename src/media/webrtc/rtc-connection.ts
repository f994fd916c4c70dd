/**
 * The transport of one peer: ICE, DTLS, SRTP and data channels of the library. The library receives a session description that we
 * generate, with one media section whatever the client offered: it then delivers every packet that its keys decrypt, and parses no text
 * of a stranger. It never receives the client's candidates: a client reaches this server at the server's candidates and is answered at
 * its source address, so nobody can make the server send elsewhere.
 */
import type { DataChannel, PeerConnection, Track } from 'node-datachannel';
import type { LocalTransport } from '../../protocol/sdp/media-answer.ts';
import type { DtlsParameters, IceCredentials } from '../../protocol/sdp/offered-transport.ts';
import { attributesOf, parseSessionDescription, valueOf } from '../../protocol/sdp/session-description.ts';
import { closeConnection, makeConnection, type RtcEngine } from './rtc-engine.ts';
import type { UdpPort } from './udp-ports.ts';

export interface RtcConnectionOwner {
  /** RTP or RTCP; owns its memory. */
  packet(bytes: Buffer): void;
  channel(channel: DataChannel): void;
  connected(): void;
  /** Called once: the client ended the connection, or does not answer. */
  ended(): void;
}

export interface RemoteTransport {
  readonly ice: IceCredentials;
  readonly dtls: DtlsParameters;
  readonly hasMedia: boolean;
  readonly channels: { readonly sctpPort: number; readonly messageBytesMax: number } | null;
}

/** Maximum size of a message on a data channel, and the size announced to the client. */
export const channelMessageBytesMax = 256 * 1024;

export class RtcConnection {
  readonly #connection: PeerConnection;
  readonly #owner: RtcConnectionOwner;
  #track: Track | null = null;
  #stage: 'new' | 'connected' | 'closed' = 'new';
  #giveUp: (error: Error) => void = () => undefined;

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

  /** Call once. Rejects with the library's reason if it fails or is closed before. */
  start(remote: RemoteTransport): Promise<LocalTransport> {
    const connection = this.#connection;
    connection.onStateChange((state) => this.#changed(state));
    connection.onTrack((track) => this.#adoptTrack(track));
    connection.onDataChannel((channel) => {
      if (this.#stage === 'closed') closeUnwanted(channel);
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

  /** False: not connected, or the network accepts nothing. */
  send(packet: Buffer): boolean {
    return this.#stage === 'connected' && this.#track !== null && trySend(this.#track, packet);
  }

  openChannel(label: string): DataChannel {
    return this.#connection.createDataChannel(label);
  }

  close(): void {
    if (this.#stage === 'closed') return;
    this.#stage = 'closed';
    // Otherwise its callbacks are kept until garbage collection.
    this.#track?.close();
    this.#giveUp(new Error('it was closed'));
    closeConnection(this.#connection);
  }

  #adoptTrack(track: Track): void {
    if (this.#stage === 'closed') {
      track.close();
      return;
    }
    this.#track = track;
    // The library frees the track after this call, and only if a handler is set.
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

/** False: not open, or it accepts nothing. The library throws if one of its threads closes it at this moment. */
export function trySend(to: LibrarySender, bytes: Uint8Array): boolean {
  try {
    return to.isOpen() && to.sendMessageBinary(bytes);
  } catch {
    return false;
  }
}

/** Closes an unwanted channel. The library frees it after its last callback, and only if a handler is set. */
export function closeUnwanted(channel: DataChannel): void {
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

/** Null: not in the library's format. */
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
