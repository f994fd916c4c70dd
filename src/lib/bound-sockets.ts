/**
 * TCP sockets that are bound, for other processes to accept from: whoever gets one listens, and what waits in it outlives
 * that process, for as long as this one has it open and accepts nothing itself. A `net.Server` cannot be had without its
 * accepting; `node:cluster` makes its shared handles by the call that is used here.
 *
 * And connections on their way from one process to another. A channel to a child carries a connection's handle, and both
 * processes then have the same connection: what one of them closes stays open in the other. Node's own way of sending a
 * `Socket` reads from it on arrival, and takes bytes from the process that still serves it; a bare handle reads nothing.
 * `_handle` is not documented; this file alone knows of it.
 */
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { getSystemErrorName } from 'node:util';

/** A server takes it: `server.listen(socket)`. A channel to a child carries it. */
export interface BoundSocket {
  close(): void;
}

interface BindAddress {
  readonly host: string;
  readonly port: number;
}

interface Handle extends BoundSocket {
  /** 0, or what failed as a negative number: that the address is in use shows only here. */
  getsockname(address: object): number;
}

interface NetInternals {
  readonly _createServerHandle: (
    this: void,
    address: string,
    port: number,
    family: number,
    fd: -1,
    flags: number,
  ) => Handle | number;
}

/** Of libuv's uv.h. */
const uvTcpReusePort = 2;
/** The first Node whose libuv has it. */
const reusePortSince = [22, 12] as const;

/**
 * So many as the kernel spreads connections over; one, which takes all of them, where Node or the system cannot do that.
 * Rejects with the system's word for what failed.
 */
export async function bindSockets(at: BindAddress, count: number): Promise<readonly BoundSocket[]> {
  const { address, family } = await lookup(at.host);
  const bind = (flags: number): Handle | string => bindOne(address, at.port, family, flags);
  const first = hasReusePort() ? bind(uvTcpReusePort) : 'ENOTSUP';
  if (first === 'ENOTSUP') return [bound(bind(0))];
  return [bound(first), ...Array.from({ length: count - 1 }, () => bound(bind(uvTcpReusePort)))];
}

/** One socket, for several processes to accept from. Rejects with the system's word for the fault. */
export async function bindSocket(at: BindAddress): Promise<BoundSocket> {
  const { address, family } = await lookup(at.host);
  return bound(bindOne(address, at.port, family, 0));
}

/**
 * The same for a process that listens alone. Empty where one socket is all that can be had, or not even that: a server that listens there
 * by itself says why.
 */
export async function bindGroup(at: BindAddress, count: number): Promise<readonly BoundSocket[]> {
  if (count < 2 || !hasReusePort()) return [];
  try {
    const { address, family } = await lookup(at.host);
    // Whoever listens there already must be noticed, though the system would let sockets of one user share the port.
    const only = bound(bindOne(address, at.port, family, 0));
    const { port } = addressOf(only);
    only.close();
    return await bindSockets({ host: at.host, port }, count);
  } catch {
    return [];
  }
}

/**
 * Connections that the kernel may hold for one listening socket until they are accepted; it takes the smaller of this and its own limit.
 * Node accepts one in a turn of the loop: a storm of strangers waits there, and a newcomer behind it is not dropped.
 */
export const acceptBacklog = 32_768;

const acceptQueueFile = '/proc/sys/net/core/somaxconn';

/** Connections that the kernel holds for one listening socket at most; null: this system does not say. */
export function readAcceptQueueMax(): number | null {
  try {
    return Number(readFileSync(acceptQueueFile, 'latin1'));
  } catch {
    return null;
  }
}

function addressOf(socket: Handle): net.AddressInfo {
  const address: Partial<net.AddressInfo> = {};
  socket.getsockname(address);
  return address as net.AddressInfo;
}

function bindOne(address: string, port: number, family: number, flags: number): Handle | string {
  const { _createServerHandle } = net as unknown as NetInternals;
  const handle = _createServerHandle(address, port, family, -1, flags);
  if (typeof handle === 'number') return getSystemErrorName(handle);
  const fault = handle.getsockname({});
  if (fault === 0) return handle;
  handle.close();
  return getSystemErrorName(fault);
}

function bound(socket: Handle | string): Handle {
  if (typeof socket === 'string') throw new Error(`cannot bind: ${socket}`);
  return socket;
}

/** On Linux a port then has several listening sockets, over which the kernel spreads connections. */
export function hasReusePort(nodeVersion = process.versions.node): boolean {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  return major > reusePortSince[0] || (major === reusePortSince[0] && minor >= reusePortSince[1]);
}

/** An accepted connection, or a listening socket: a channel to a child carries it. It stays open here. */
export type SocketHandle = BoundSocket;

interface StreamHandle extends SocketHandle {
  reading: boolean;
  readStart(): number;
  readStop(): number;
}

interface WithHandle {
  readonly _handle: StreamHandle | null;
}

/** Null: the connection, or the listener, is closed. */
export function handleOf(socket: net.Socket | net.Server): SocketHandle | null {
  return (socket as unknown as WithHandle)._handle;
}

/** What arrives from now on stays in the kernel. A socket whose bytes are given out as they come has none in its own buffer. */
export function haltReading(socket: net.Socket): void {
  const handle = (socket as unknown as WithHandle)._handle;
  if (handle === null) return;
  handle.reading = false;
  handle.readStop();
}

/** After `haltReading`. */
export function continueReading(socket: net.Socket): void {
  const handle = (socket as unknown as WithHandle)._handle;
  if (handle === null || handle.reading) return;
  handle.reading = true;
  handle.readStart();
}

/** The connection of a handle that another process has sent. It reads nothing before `resume` is called. */
export function socketOf(handle: SocketHandle): net.Socket {
  // `pauseOnCreate` is how a server makes the sockets of `pauseOnConnect`.
  return madeOf({ handle, pauseOnCreate: true });
}

/** The same, as a server makes those that it accepts. */
export function acceptedSocketOf(handle: SocketHandle): net.Socket {
  return madeOf({ handle });
}

function madeOf(options: object): net.Socket {
  // Half open, as those that the sleep port accepts: whoever owns it closes it when its peer has hung up.
  return new net.Socket({ ...options, readable: true, writable: true, allowHalfOpen: true });
}
