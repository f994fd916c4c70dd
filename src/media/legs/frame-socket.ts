/** A WebSocket as the legs here see it, and whose events it has. */

/** It is never called before a call of its own to the socket returns. */
export interface SocketOwner {
  /** `bytes` are the owner's to keep. */
  received(bytes: Buffer, isBinary: boolean): void;
  /** It is answered already, as far as the peer reads. */
  pinged(): void;
  /** Whether or not it was asked for one. */
  ponged(): void;
  /** What came is no WebSocket's, or too large: the socket closes itself. */
  failed(): void;
  /** The socket is closed; of every socket, once. */
  gone(): void;
}

/** Once it is closed its calls do nothing. */
export interface FrameSocket {
  /** Bytes that wait to be sent. */
  readonly bufferedAmount: number;
  /** Bytes that have come, those of a message that is not whole included. */
  readonly bytesRead: number;
  send(text: string): void;
  /** One binary message of the two. `sent`: the system has it, or never will; it is called once, and never within the call. */
  sendFrame(header: Uint8Array, payload: Uint8Array, sent: () => void): void;
  ping(): void;
  /** A close frame; the connection ends when the peer answers it, or has not for a while. */
  close(code: number, reason: string): void;
  /** The same to a peer that sends too much: none of it is read any more, its answer included. */
  closeUnwakeable(code: number, reason: string): void;
  /** The end without a close frame. */
  terminate(): void;
}
