import type { Socket } from 'node:net';

const sliceBytes = 256;

/**
 * Gives Node's HTTP parser what the socket has read in small slices, so that no more is parsed once the socket is destroyed or
 * paused: 64 KiB are 2000 pipelined requests, a slice about 8, each with its objects and the error of its end. To be called when the server
 * has the connection. The result ends it, for an upgrade: what was not parsed is for the next reader.
 */
export function readInSlices(socket: Socket): () => void {
  const [parse, ...others] = socket.listeners('data');
  // The encrypted side of TLS has none.
  if (parse === undefined || others.length > 0) return () => undefined;
  let isOver = false;
  const read = (bytes: Buffer): void => {
    for (let at = 0; at < bytes.length && !socket.destroyed; at += sliceBytes) {
      if (isOver) return void socket.push(bytes.subarray(at));
      if (socket.isPaused()) return socket.unshift(bytes.subarray(at));
      parse.call(socket, bytes.subarray(at, at + sliceBytes));
    }
  };
  socket.removeAllListeners('data').on('data', read);
  return () => {
    isOver = true;
    socket.off('data', read);
  };
}
