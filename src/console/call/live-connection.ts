/**
 * A call over one WebRTC connection: the phone's video by RTP, single pictures of each stream by data channels, and sound, which
 * the server sends only on request. Source: RFC 9725, as WHEP applies it; docs/media-protocol.md, Viewers by WebRTC.
 */
const connectMsMax = 5000;
const soundCommands = { on: 0x3000, off: 0x3001 } as const;

/** `source`: from the phone; `output`: on the device's screen; `camera`: from the device. */
export type StreamName = 'source' | 'output' | 'camera';

const channels: Readonly<Record<StreamName, string>> = {
  source: 'source',
  output: 'pictures',
  camera: 'camera',
};

export interface LiveOwner {
  addTrack(track: MediaStreamTrack): void;
  showPicture(stream: StreamName, jpeg: ArrayBuffer): void;
  lost(): void;
}

/** Milliseconds; null: unknown. */
export interface Delays {
  readonly roundTrip: number | null;
  /** Time in the jitter buffer before a frame is shown. */
  readonly wait: number | null;
}

/** `refused`: by the server or by this browser; `unreachable`: the network blocks the connection. */
export type LiveRefusal = 'refused' | 'unreachable';

export class LiveConnection {
  readonly #connection: RTCPeerConnection;
  readonly #commands: RTCDataChannel;

  /** `link`: valid once. */
  static async open(link: string, owner: LiveOwner): Promise<LiveConnection | LiveRefusal> {
    if (!('RTCPeerConnection' in globalThis)) return 'refused';
    const connection = new RTCPeerConnection();
    const live = new LiveConnection(connection, owner);
    const session = await offer(connection, link);
    if (session === null) return live.#refuse('refused');
    if (await isConnected(connection)) {
      connection.onconnectionstatechange = () => {
        if (['failed', 'closed'].includes(connection.connectionState)) owner.lost();
      };
      return live;
    }
    // Otherwise the server would count it as a viewer until a timeout.
    await fetch(session, { method: 'DELETE' }).catch(() => undefined);
    return live.#refuse('unreachable');
  }

  private constructor(connection: RTCPeerConnection, owner: LiveOwner) {
    this.#connection = connection;
    this.#commands = connection.createDataChannel('commands');
    for (const [name, label] of Object.entries(channels)) {
      const channel = connection.createDataChannel(label);
      channel.binaryType = 'arraybuffer';
      channel.onmessage = ({ data }) => owner.showPicture(name as StreamName, data as ArrayBuffer);
    }
    connection.ontrack = ({ track, receiver }) => {
      // Shows frames on arrival: low delay matters more than smooth playback.
      if (track.kind === 'video') receiver.jitterBufferTarget = 0;
      owner.addTrack(track);
    };
    for (const kind of ['video', 'audio']) connection.addTransceiver(kind, { direction: 'recvonly' });
  }

  close(): void {
    this.#connection.onconnectionstatechange = null;
    this.#connection.close();
  }

  /** The command is 32 bits, little endian. */
  setSound(isOn: boolean): void {
    const command = isOn ? soundCommands.on : soundCommands.off;
    const send = (): void => this.#commands.send(new Uint8Array([command & 0xff, command >> 8, 0, 0]));
    if (this.#commands.readyState === 'open') send();
    else this.#commands.onopen = send;
  }

  async delays(): Promise<Delays> {
    let roundTrip: number | null = null;
    let wait: number | null = null;
    const reports: ReadonlyMap<string, Readonly<Record<string, unknown>>> = await this.#connection.getStats();
    for (const report of reports.values()) {
      if (report['nominated'] === true && typeof report['currentRoundTripTime'] === 'number')
        roundTrip = report['currentRoundTripTime'] * 1000;
      const emitted = Number(report['jitterBufferEmittedCount'] ?? 0);
      if (report['kind'] === 'video' && emitted > 0)
        wait = (Number(report['jitterBufferDelay']) / emitted) * 1000;
    }
    return { roundTrip, wait };
  }

  #refuse(refusal: LiveRefusal): LiveRefusal {
    this.close();
    return refusal;
  }
}

/** The URL of the session at the server; null: refused. */
async function offer(connection: RTCPeerConnection, link: string): Promise<URL | null> {
  try {
    await connection.setLocalDescription();
    const body = connection.localDescription?.sdp ?? '';
    const headers = { 'Content-Type': 'application/sdp' };
    const answer = await fetch(link, { method: 'POST', headers, body });
    if (!answer.ok) return null;
    const session = new URL(answer.headers.get('Location') ?? '', answer.url);
    await connection.setRemoteDescription({ type: 'answer', sdp: await answer.text() });
    return session;
  } catch {
    return null;
  }
}

/** False: it failed or timed out. */
function isConnected(connection: RTCPeerConnection): Promise<boolean> {
  return new Promise((resolve) => {
    const timeout = setTimeout(() => resolve(false), connectMsMax);
    const check = (): void => {
      if (['new', 'connecting'].includes(connection.connectionState)) return;
      clearTimeout(timeout);
      resolve(connection.connectionState === 'connected');
    };
    connection.onconnectionstatechange = check;
    check();
  });
}
