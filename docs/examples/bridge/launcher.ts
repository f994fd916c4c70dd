/**
 * A launcher of bridges: it keeps some idle, one process each, because the vendor's library for phones may leak or crash. A
 * bridge accepts one call and ends with it; one that dies in its call is replaced by one that rejoins it. Implement `joinPhone`
 * with your library: here it is a phone that rings, answers and shows moving bars. README.md has the environment. Source:
 * docs/media-protocol.md.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';

const { BRIDGE_KEY = '', BRIDGE_URL = 'ws://127.0.0.1:8083', BRIDGE_SESSION } = process.env;
const { BRIDGE_IDLE = '2', BRIDGE_PROCESSES_MAX = '20' } = process.env;

/** The server's `start`: the request to the phone (null: no video), and the credentials of the call's room. */
interface CallStart {
  readonly request: Readonly<Record<'width' | 'height' | 'rotation' | 'max_fps', number>> | null;
  readonly audio: { readonly format: string; readonly rate: number; readonly channels: number };
  readonly room: Readonly<
    Record<'app_id' | 'model_id' | 'room_id' | 'session_key' | 'session_token', string>
  >;
}

interface Phone {
  /** Receives a frame of the device, with its header of 12 bytes. */
  receive(frame: Buffer): void;
  /** Makes the next video frame a key frame. */
  wantKeyFrame(): void;
  /** The device has accepted. */
  accepted(): void;
  leave(): void;
}

/** `send`: a state (`ringing`, `connected`, or `ended` with a reason), or a frame with its header. */
function joinPhone({ request }: CallStart, send: (news: object | Buffer) => void): Phone {
  send({ type: 'state', state: 'ringing' });
  const beganMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  return {
    receive: () => undefined,
    wantKeyFrame: () => undefined,
    accepted: () => {
      send({ type: 'state', state: 'connected' });
      if (request === null) return;
      const { width, height, max_fps } = request;
      timer ??= setInterval(() => send(bars(width, height, performance.now() - beganMs)), 1000 / max_fps);
    },
    leave: () => clearInterval(timer),
  };
}

/** Draws an I420 frame (format 4); each is a key frame. */
function bars(width: number, height: number, atMs: number): Buffer {
  const chroma = Math.ceil(width / 2) * Math.ceil(height / 2);
  const frame = Buffer.alloc(12 + width * height + 2 * chroma, 128);
  frame.set([1, 4, 0, 1, width >> 8, width & 255, height >> 8, height & 255]);
  frame.writeUInt32BE(Math.round(atMs) % 2 ** 32, 8);
  for (let at = 0; at < width * height; at += 1)
    frame[12 + at] = 40 + (Math.floor(((at % width) + atMs / 20) / 40) % 5) * 40;
  return frame;
}

const [refusedKeyCode, bufferedBytesMax, pingEveryMs] = [3, 1 << 20, 20_000];
const closedForGood = new Set([1000, 4401, 4409]);

/** Runs one bridge process. Resolves with its exit code. */
async function runBridge(): Promise<number> {
  let session = BRIDGE_SESSION ?? null;
  let phone: Phone | null = null;
  let socket: WebSocket;
  const report = (event: string): void => void process.send?.({ event, session });
  const send = (news: object | Buffer): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (!Buffer.isBuffer(news)) return socket.send(JSON.stringify(news));
    // Later frames depend on a skipped one: request a key frame from the phone.
    if (news[0] === 1 && socket.bufferedAmount > bufferedBytesMax) return phone?.wantKeyFrame();
    socket.send(news);
  };
  const receive = (text: {
    readonly type: string;
    readonly session: string;
    readonly state?: string;
  }): void => {
    if (text.type === 'assign') {
      ({ session } = text);
      report('assigned');
      send({ type: 'accept' });
    } else if (text.type === 'start') phone ??= joinPhone(text as unknown as CallStart, send);
    else if (text.type === 'key_frame_wanted') phone?.wantKeyFrame();
    else if (text.state === 'attempting' || text.state === 'connected') phone?.accepted();
  };
  const hangUp = (): void => {
    send({ type: 'state', state: 'ended', reason: 'hangup_phone' });
    socket.close(1000);
  };
  process.on('SIGTERM', hangUp).on('disconnect', hangUp);
  for (let pauseMs = 250; ; pauseMs = Math.min(pauseMs * 2, 4000)) {
    const query = session === null ? '' : `?session=${encodeURIComponent(session)}`;
    const headers = { Authorization: `Bearer ${BRIDGE_KEY}` };
    socket = new WebSocket(new URL(`/media/v1/bridge${query}`, BRIDGE_URL), {
      headers,
      perMessageDeflate: false,
    });
    const pings = setInterval(() => socket.readyState === WebSocket.OPEN && socket.ping(), pingEveryMs);
    socket.on('open', () => session === null && report('idle'));
    socket.on('message', (data: Buffer, isBinary) =>
      isBinary ? phone?.receive(data) : receive(JSON.parse(data.toString('utf8'))),
    );
    // 101: accepted. A close follows each error.
    let status = 101;
    socket.on('error', () => undefined);
    socket.on('unexpected-response', (_request, response) => {
      status = response.statusCode ?? 0;
      socket.terminate();
    });
    const code = await new Promise<number>((resolve) => socket.on('close', resolve));
    clearInterval(pings);
    if (status === 401 || session === null) return status === 401 ? refusedKeyCode : 1;
    // 404: the call ended while the bridge was disconnected.
    if (status === 404 || closedForGood.has(code)) break;
    await delay(pauseMs);
  }
  (phone as Phone | null)?.leave();
  report('ended');
  return 0;
}

const [returnsMax, partingMsMax, pauseMsMin, pauseMsMax] = [3, 10_000, 500, 30_000];
/** Session, null while idle, and the number of rejoins of its call. */
const held = new Map<ChildProcess, { session: string | null; readonly returns: number }>();
let [pauseMs, isStopping] = [pauseMsMin, false];

function log(step: string, fields: object = {}): void {
  process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), step, ...fields })}\n`);
}

function fill(): void {
  const idle = [...held.values()].filter(({ session }) => session === null).length;
  if (isStopping || idle >= Number(BRIDGE_IDLE) || held.size >= Number(BRIDGE_PROCESSES_MAX)) return;
  launch(null, 0);
  fill();
}

function launch(session: string | null, returns: number): void {
  const env = { ...process.env, ...(session !== null && { BRIDGE_SESSION: session }) };
  const child = fork(fileURLToPath(import.meta.url), [], { env });
  const state = { session, returns };
  held.set(child, state);
  child.on('message', (news: { readonly event: string; readonly session: string | null }) => {
    log(`bridge.${news.event}`, { session: news.session, process: child.pid });
    if (news.event === 'idle') pauseMs = pauseMsMin;
    state.session = news.session;
    fill();
  });
  child.once('exit', (code, signal) => {
    held.delete(child);
    if (code === refusedKeyCode) return stop('the server refuses the key of the bridges: BRIDGE_KEY', 1);
    if (isStopping || code === 0) return fill();
    log('bridge.died', { session: state.session, code, signal });
    // A call whose bridges die repeatedly probably contains the cause.
    if (state.session !== null && returns < returnsMax) return launch(state.session, returns + 1);
    setTimeout(fill, pauseMs * (0.5 + Math.random()));
    pauseMs = Math.min(pauseMs * 2, pauseMsMax);
  });
}

/** Ends idle bridges at once, and hangs up calls. */
function stop(problem = '', code = 0): void {
  if (problem !== '') process.stderr.write(`${problem}\n`);
  process.exitCode = Math.max(code, Number(process.exitCode ?? 0));
  isStopping = true;
  for (const child of held.keys()) child.kill('SIGTERM');
  setTimeout(() => process.exit(), partingMsMax).unref();
}

if (process.send !== undefined) process.exit(await runBridge());
else if (BRIDGE_KEY === '') stop('BRIDGE_KEY is missing: see docs/examples/bridge/README.md', 2);
else {
  process.once('SIGTERM', () => stop()).once('SIGINT', () => stop());
  fill();
}
