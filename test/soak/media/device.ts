/** The devices of the soak's calls: by WebSocket, and by WHIP with a third-party WebRTC stack. */
import { mediaFrameHeaderBytes } from '../../../src/model/limits.ts';
import { soundBlockMs } from '../../../src/model/media/sound-limits.ts';
import type { AudioFrameFormat } from '../../../src/model/media/sound.ts';
import { splitNalUnits } from '../../../src/media/geometry/nal-units.ts';
import { H264Assembler, joinAnnexB, packetizeH264 } from '../../../src/protocol/rtp/h264-payload.ts';
import { DeviceLeg } from '../../../src/tools/simulator/media-leg.ts';
import { RtcClient } from '../../support/rtc-client.ts';

export interface DeviceSenses {
  picture(format: 'mjpeg' | 'h264', bytes: Uint8Array<ArrayBuffer>): void;
  sound(format: AudioFrameFormat, timestampMs: number, payload: Uint8Array): void;
}

export interface DeviceAccess {
  readonly url: string;
  readonly token: string;
}

export interface SoakDevice {
  sendFrame(message: Buffer, timestampMs: number): void;
  /** Sends a packet of 20 ms; `ordinal`: its number. */
  sendSound(message: Buffer, ordinal: number): void;
  /** Attempts an ICE restart, which must be refused. Resolves with a failure, or null. */
  restart(): Promise<string | null>;
  /** Disconnects without a hangup. */
  leave(): Promise<void>;
  hangUp(): Promise<void>;
}

export async function connectByWebSocket(access: DeviceAccess, senses: DeviceSenses): Promise<SoakDevice> {
  const leg = await DeviceLeg.connect({
    ...access,
    onFrame(header, payload) {
      const bytes = new Uint8Array(payload);
      if (header.kind === 'audio') senses.sound(header.format, header.timestampMs, bytes);
      else if (header.format === 'mjpeg' || header.format === 'h264') senses.picture(header.format, bytes);
    },
  });
  return {
    sendFrame: (message) => leg.frame(message),
    sendSound: (message) => leg.frame(message),
    restart: () => Promise.resolve(null),
    leave: async () => void (await leg.terminate()),
    async hangUp() {
      leg.hangup();
      await leg.closed;
    },
  };
}

const [videoRate, soundRate] = [90_000, 48_000];
const payloadBytesMax = 1100;
const accessUnitBytesMax = 1024 * 1024;

class RtcDevice implements SoakDevice {
  readonly #origin: string;
  readonly #token: string;
  readonly #senses: DeviceSenses;
  readonly #endings: (() => unknown)[] = [];
  readonly #assembler = new H264Assembler(accessUnitBytesMax);
  #client: RtcClient | null = null;
  #resource = '';
  #etag = '';
  #videoSequence = 0;
  #soundBegins: number | null = null;

  constructor({ url, token }: DeviceAccess, senses: DeviceSenses) {
    this.#origin = url.replace('ws:', 'http:');
    this.#token = token;
    this.#senses = senses;
  }

  async connect(): Promise<void> {
    const ending = { after: (end: () => unknown) => void this.#endings.unshift(end) };
    const client = await RtcClient.open(ending, ['pictures', 'commands'], {
      packet: (kind, { header, payload }) => {
        if (kind === 'audio') this.#receiveSound(header.timestamp, payload);
        else this.#receiveVideo(payload, header.marker);
      },
      message: (label, bytes) => {
        if (label === 'pictures') this.#senses.picture('mjpeg', new Uint8Array(bytes));
      },
    });
    const answer = await this.#ask('POST', '/media/v1/whip', 'application/sdp', await client.offer());
    const sdp = await answer.text();
    if (answer.status !== 201) throw new Error(`an offer was answered ${answer.status}: ${sdp}`);
    this.#resource = answer.headers.get('location') ?? '';
    this.#etag = answer.headers.get('etag') ?? '';
    await client.connection.setRemoteDescription({ type: 'answer', sdp });
    this.#client = client;
  }

  sendFrame(message: Buffer, timestampMs: number): void {
    const units = splitNalUnits(message.subarray(mediaFrameHeaderBytes));
    const payloads = packetizeH264(units, payloadBytesMax);
    for (const [index, payload] of payloads.entries()) {
      const timestamp = (timestampMs * videoRate) / 1000;
      const isLast = index === payloads.length - 1;
      this.#client?.sendVideo(this.#videoSequence, timestamp >>> 0, Buffer.from(payload), isLast);
      this.#videoSequence = (this.#videoSequence + 1) % 2 ** 16;
    }
  }

  sendSound(message: Buffer, ordinal: number): void {
    const timestamp = (ordinal * soundBlockMs * soundRate) / 1000;
    this.#client?.sendAudio(
      ordinal % 2 ** 16,
      timestamp >>> 0,
      Buffer.from(message.subarray(mediaFrameHeaderBytes)),
    );
  }

  async restart(): Promise<string | null> {
    const fragment = `a=ice-ufrag:fresh\r\na=ice-pwd:${'q'.repeat(24)}\r\n`;
    const { status } = await this.#ask(
      'PATCH',
      this.#resource,
      'application/trickle-ice-sdpfrag',
      fragment,
      this.#etag,
    );
    return status === 422 ? null : `a restart of ICE was answered ${status}`;
  }

  async leave(): Promise<void> {
    this.#client = null;
    for (const end of this.#endings.splice(0)) await end();
  }

  async hangUp(): Promise<void> {
    const { status } = await this.#ask('DELETE', this.#resource);
    await this.leave();
    if (status !== 200) throw new Error(`DELETE was answered ${status}`);
  }

  /** Timestamps start at a random value and wrap around. */
  #receiveSound(timestamp: number, payload: Buffer): void {
    this.#soundBegins ??= timestamp;
    const passed = (timestamp - this.#soundBegins) | 0;
    this.#senses.sound('opus', (passed * 1000) / soundRate, payload);
  }

  #receiveVideo(payload: Buffer, isLast: boolean): void {
    this.#assembler.push(payload);
    const units = isLast ? this.#assembler.end() : null;
    const accessUnit = units === null ? null : joinAnnexB(units);
    if (accessUnit !== null) this.#senses.picture('h264', accessUnit);
  }

  #ask(method: string, path: string, type?: string, body?: string, etag?: string): Promise<Response> {
    const headers = {
      Authorization: `Bearer ${this.#token}`,
      ...(type !== undefined && { 'Content-Type': type }),
      ...(etag !== undefined && { 'If-Match': etag }),
    };
    return fetch(new URL(path, this.#origin), { method, headers, ...(body !== undefined && { body }) });
  }
}

/** Resolves on the answer; media flow after ICE and DTLS. */
export async function connectByWhip(access: DeviceAccess, senses: DeviceSenses): Promise<SoakDevice> {
  const device = new RtcDevice(access, senses);
  try {
    await device.connect();
  } catch (error) {
    await device.leave();
    throw error;
  }
  return device;
}
