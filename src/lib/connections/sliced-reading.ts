import type { Socket } from 'node:net';

const sliceBytes = 256;

/**
 * Passes socket data to Node's HTTP parser in small slices, so that parsing stops once the socket is destroyed or paused: 64 KiB
 * hold 2000 pipelined requests, a slice about 8. Call it when the server has the connection. The result stops slicing, for an
 * upgrade; unparsed bytes are left for the next reader.
 */
export function readInSlices(socket: Socket): () => void {
  const [parse, ...others] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  // The encrypted side of a TLS connection has no parser.
  if (parse === undefined || others.length > 0) return () => undefined;
  let isOver = false;
  const read = (bytes: Buffer): void => {
    for (let at = 0; at < bytes.length && !socket.destroyed; at += sliceBytes) {
      if (isOver) return void socket.push(bytes.subarray(at));
      if (socket.isPaused()) return socket.unshift(bytes.subarray(at));
      parse.call(socket, bytes.subarray(at, at + sliceBytes));
    }
  };
  // Not removeAllListeners: after it, each removal of a listener turns the socket's listeners into a hash table of 800 bytes.
  socket.off('data', parse).on('data', read);
  return () => {
    isOver = true;
    socket.off('data', read);
  };
}
