/**
 * Connections on their way from one process to another. A channel to a child carries a connection's handle, and both
 * processes then have the same connection: what one of them closes stays open in the other. Node's own way of sending a
 * `Socket` reads from it on arrival, and takes bytes from the process that still serves it; a bare handle reads nothing.
 * `_handle` is not documented; this file and bound-sockets.ts alone know of it.
 */
import { Socket, type Server } from 'node:net';
import type { BoundSocket } from './bound-sockets.ts';

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
export function handleOf(socket: Socket | Server): SocketHandle | null {
  return (socket as unknown as WithHandle)._handle;
}

/** What arrives from now on stays in the kernel. A socket whose bytes are given out as they come has none in its own buffer. */
export function haltReading(socket: Socket): void {
  const handle = (socket as unknown as WithHandle)._handle;
  if (handle === null) return;
  handle.reading = false;
  handle.readStop();
}

/** After `haltReading`. */
export function continueReading(socket: Socket): void {
  const handle = (socket as unknown as WithHandle)._handle;
  if (handle === null || handle.reading) return;
  handle.reading = true;
  handle.readStart();
}

/** The connection of a handle that another process has sent. It reads nothing before `resume` is called. */
export function socketOf(handle: SocketHandle): Socket {
  // `pauseOnCreate` is how a server makes the sockets of `pauseOnConnect`.
  return madeOf({ handle, pauseOnCreate: true });
}

/** The same, as a server makes those that it accepts. */
export function acceptedSocketOf(handle: SocketHandle): Socket {
  return madeOf({ handle });
}

function madeOf(options: object): Socket {
  type Options = ConstructorParameters<typeof Socket>[0];
  return new Socket({ ...options, readable: true, writable: true } as Options);
}
