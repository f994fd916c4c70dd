/** A WebSocket as the legs here see it, and whose events it has. */

export interface SocketOwner {
  /** `bytes` are another message's once this has returned. */
  received(bytes: Uint8Array, isBinary: boolean): void;
  pinged(): void;
  /** The socket is closed and must not be touched. Called before a call of ours that closes it returns, too. */
  gone(): void;
}

/** What has become of a socket, as its place says between the library and us. */
export interface SocketPlace {
  /** Null: not yet open, or closed. */
  socket: FrameSocket | null;
  owner: SocketOwner | null;
}

/** What the library hangs on a socket: it copies the fields, so that what changes is behind one of them. */
export interface SocketTag {
  readonly place: SocketPlace;
}

export interface FrameSocket {
  /** 2: it was not taken, because as much as may waits already. */
  send(text: string): number;
  getBufferedAmount(): number;
  /** A close frame, then the end of the stream. */
  end(code: number, reason: string): void;
  /** The end without a close frame. */
  close(): void;
}

const sendDropped = 2;

/** False: the peer reads too little, and the text was not sent. */
export function sendText(socket: FrameSocket, text: string): boolean {
  return socket.send(text) !== sendDropped;
}
