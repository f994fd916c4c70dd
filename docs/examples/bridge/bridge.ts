/**
 * One bridge, one call: it stands idle at the media listener, takes the call that it is given, joins the phone's room and
 * carries frames both ways until either side ends. Whose connection is lost in mid-call comes back to it by its session.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { decodeFrame, encodeFrame, type CallStart, type Frame, type ServerText } from './media-wire.ts';
import type { PhoneCall, PhoneSource } from './phone-source.ts';

export interface BridgeAccess {
  /** `ws://host:port` or `wss://host:port`. */
  readonly url: string;
  readonly key: string;
  readonly source: PhoneSource;
  /** Is told what happens: `idle`, `assigned` with the session, `ended`. */
  readonly tell: (event: string, session: string | null) => void;
}

/** Before it comes back to a call, doubling; a call waits 35 s at most for its bridge. */
const comeBackMs = 250;
const comeBackMsMax = 4000;
const pingEveryMs = 20_000;
/** Video is left out while so much waits for a server that does not read. */
const waitingBytesMax = 1 << 20;
const closedForGood = new Set([1000, 4401, 4409]);

export class BridgeRefused extends Error {}

export class Bridge {
  readonly #access: BridgeAccess;
  #session: string | null;
  #socket: WebSocket | null = null;
  /** From `start` on; it outlives a lost connection. */
  #phone: Promise<PhoneCall | null> | null = null;
  #isOver = false;

  /** `session`: the call it comes back to, in place of another process; null: it waits to be given one. */
  constructor(access: BridgeAccess, session: string | null) {
    this.#access = access;
    this.#session = session;
  }

  /** Resolves when its call is over. Rejects with BridgeRefused when its key is, or when it has no call and is cut. */
  async run(): Promise<void> {
    try {
      for (let pauseMs = comeBackMs; !this.#isOver; pauseMs = Math.min(pauseMs * 2, comeBackMsMax)) {
        const code = await this.#attend();
        if (closedForGood.has(code) && this.#session !== null) break;
        if (this.#session === null) throw new BridgeRefused(`cut with ${code} before it had a call`);
        await wait(pauseMs);
      }
    } finally {
      await this.#leave();
    }
  }

  /** Ends the call, or the waiting for one. */
  hangUp(): void {
    this.#isOver = true;
    this.#send({ type: 'state', state: 'ended', reason: 'hangup_phone' });
    this.#socket?.close(1000);
  }

  /** One connection; its close code. */
  async #attend(): Promise<number> {
    const query = this.#session === null ? '' : `?session=${encodeURIComponent(this.#session)}`;
    const socket = new WebSocket(new URL(`/media/v1/bridge${query}`, this.#access.url), {
      headers: { Authorization: `Bearer ${this.#access.key}` },
      perMessageDeflate: false,
      maxPayload: 1 << 20,
    });
    this.#socket = socket;
    const pings = setInterval(() => socket.readyState === WebSocket.OPEN && socket.ping(), pingEveryMs);
    socket.on('open', () => this.#session === null && this.#access.tell('idle', null));
    socket.on('message', (data: Buffer, isBinary) => this.#take(data, isBinary));
    let status = 101;
    socket.on('unexpected-response', (_request, { statusCode = 0 }) => {
      status = statusCode;
      socket.terminate();
    });
    // A close follows, with 1006.
    socket.on('error', () => undefined);
    const code = await new Promise<number>((resolve) => socket.on('close', resolve));
    clearInterval(pings);
    if (status === 401 || (status !== 101 && this.#session === null))
      throw new BridgeRefused(`HTTP ${status}`);
    // Its call ended while it was away.
    this.#isOver ||= status === 404;
    return code;
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (!isBinary) return this.#hear(JSON.parse(data.toString('utf8')) as ServerText);
    const frame = decodeFrame(data);
    if (frame !== null) void this.#phone?.then((phone) => phone?.take(frame));
  }

  #hear(text: ServerText): void {
    if (text.type === 'assign') this.#accept(text.session);
    else if (text.type === 'start') this.#phone ??= this.#join(text);
    else if (text.type === 'key_frame_wanted') void this.#phone?.then((phone) => phone?.wantKeyFrame());
    else if (text.type === 'state') this.#followState(text.state);
  }

  #accept(session: string): void {
    this.#session = session;
    this.#access.tell('assigned', session);
    this.#send({ type: 'accept' });
  }

  #followState(state: string): void {
    if (state === 'attempting' || state === 'connected') void this.#phone?.then((phone) => phone?.answered());
    if (state === 'ended') this.#isOver = true;
  }

  /** Null: the room could not be joined, which ends the call. */
  async #join(start: CallStart): Promise<PhoneCall | null> {
    try {
      return await this.#access.source.join(start, {
        state: (state) => this.#send({ type: 'state', state }),
        ended: (reason) => this.#end(reason),
        frame: (frame) => this.#forward(frame),
      });
    } catch {
      this.#end('error');
      return null;
    }
  }

  #end(reason: string): void {
    this.#isOver = true;
    this.#send({ type: 'state', state: 'ended', reason });
  }

  /** Coded video that is left out would break what follows: the phone is asked for a key frame. */
  #forward(frame: Frame): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    if (frame.kind === 'audio' || socket.bufferedAmount <= waitingBytesMax)
      return socket.send(encodeFrame(frame));
    void this.#phone?.then((phone) => phone?.wantKeyFrame());
  }

  #send(text: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(text));
  }

  async #leave(): Promise<void> {
    this.#socket?.terminate();
    (await this.#phone)?.leave();
    if (this.#session !== null) this.#access.tell('ended', this.#session);
  }
}
