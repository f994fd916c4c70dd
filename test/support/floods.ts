/**
 * Peers that send as fast as the server reads; each kind tries to block the event loop in its own way. A flood repeats one
 * chunk on a connection until the server closes it or `bytesMax` are sent.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { RawPeer } from './raw-peer.ts';
import { encodeFrame, opcodes, SignalPeer } from './signal-peer.ts';

export interface FloodTargets {
  readonly api: number;
  readonly signal: number;
  readonly sleep: number;
  readonly ops: number;
  readonly deviceId: string;
  readonly secret: string;
  readonly localAddress?: string;
}

type FloodedListener = 'api' | 'signal' | 'sleep' | 'ops';

export interface FloodKind {
  readonly name: string;
  readonly listener: FloodedListener;
  /** Opens a connection that is ready to flood, and the chunk to repeat. */
  open(targets: FloodTargets): Promise<{ readonly socket: Socket; readonly piece: Buffer }>;
}

export interface FloodEnd {
  readonly by: 'server' | 'bytes';
  readonly bytesSent: number;
  readonly closeCode: number | null;
}

const pieceBytesMin = 64 * 1024;

function repeated(unit: Buffer): Buffer {
  return Buffer.concat(Array.from({ length: Math.ceil(pieceBytesMin / unit.length) }, () => unit));
}

function text(message: object): Buffer {
  return encodeFrame(JSON.stringify(message));
}

async function upgraded({ signal, localAddress }: FloodTargets): Promise<SignalPeer> {
  const peer = new SignalPeer(await RawPeer.connect(signal, localAddress));
  await peer.upgrade();
  return peer;
}

function fromController(name: string, unit: Buffer): FloodKind {
  return {
    name,
    listener: 'signal',
    async open(targets) {
      const peer = await upgraded(targets);
      await peer.logIn(targets.deviceId, targets.secret);
      return { socket: peer.socket, piece: repeated(unit) };
    },
  };
}

function plain(name: string, listener: FloodedListener, unit: string): FloodKind {
  return {
    name,
    listener,
    async open(targets) {
      const { socket } = await RawPeer.connect(targets[listener], targets.localAddress);
      return { socket, piece: repeated(Buffer.from(unit)) };
    },
  };
}

const ping = encodeFrame('', { opcode: opcodes.ping });
const pong = encodeFrame('', { opcode: opcodes.pong });
const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;

const spacedLogin =
  'POST /console/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n' +
  `Content-Type: application/json;charset=utf-8${' '.repeat(3000)}x\r\n\r\n{}`;

export const floodKinds: readonly FloodKind[] = [
  {
    name: 'pings before the login',
    listener: 'signal',
    open: async (targets) => ({ socket: (await upgraded(targets)).socket, piece: repeated(ping) }),
  },
  fromController('pings of a controller', ping),
  fromController('pongs of a controller', pong),
  fromController('heartbeats of a controller', text({ type: 'heartbeat' })),
  fromController('acknowledgements of a controller', text({ type: 'ack', id: 'nobody-waits-for-it' })),
  fromController('wake reports of a controller', text({ type: 'wake_report', cause: 'remote' })),
  plain('unsigned requests', 'api', request('/v1/device/connectivity?device_id=TESTDEVICE01')),
  plain('requests of no path', 'api', request('/nothing')),
  plain('requests for no WebSocket', 'signal', request('/v1/signal')),
  plain('probes', 'ops', request('/livez')),
  plain('administration without a token', 'ops', request('/v1/calls')),
  plain('logins to the console with a Content-Type of spaces', 'ops', spacedLogin),
  plain('heartbeats before a login', 'sleep', 'x'.repeat(64)),
];

/** The server's answers are read, so that they never block the flood. Ends at `bytesMax` or `until`. */
export async function flood(
  kind: FloodKind,
  targets: FloodTargets,
  { bytesMax, until }: { readonly bytesMax: number; readonly until?: Promise<unknown> },
): Promise<FloodEnd> {
  const { socket, piece } = await kind.open(targets);
  const state = { isOver: false, isStopped: false, heard: Buffer.alloc(0) };
  socket.on('data', (chunk: Buffer) => (state.heard = Buffer.concat([state.heard, chunk]).subarray(-256)));
  const gone = new Promise<void>((resolve) => {
    for (const event of ['error', 'end', 'close']) socket.once(event, resolve);
  }).then(() => (state.isOver = true));
  const stopped = (until ?? new Promise<never>(() => undefined)).then(() => (state.isStopped = true));
  while (!state.isOver && !state.isStopped && socket.bytesWritten < bytesMax)
    // A write that fails because the server closed the connection is reported before the end of the connection.
    await Promise.race([new Promise((taken) => socket.write(piece, taken)), gone, stopped]).then(
      (error) => (state.isOver ||= error instanceof Error),
    );
  const bytesSent = socket.bytesWritten;
  socket.destroy();
  return { by: state.isOver ? 'server' : 'bytes', bytesSent, closeCode: closeCodeOf(state.heard) };
}

/** Code of a close frame at the end of the received bytes; null: none. */
function closeCodeOf(heard: Buffer): number | null {
  const at = heard.lastIndexOf(0x88);
  return at === -1 || at + 4 > heard.length ? null : heard.readUInt16BE(at + 2);
}

/** Opens a connection that stays silent. Null: the server refused it. */
export async function silentConnection(port: number, localAddress?: string): Promise<Socket | null> {
  const socket = connect({ port, host: '127.0.0.1', ...(localAddress !== undefined && { localAddress }) });
  socket.on('error', () => undefined);
  const isThere = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return (await isThere) ? socket : null;
}
