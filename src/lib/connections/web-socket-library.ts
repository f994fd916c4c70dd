/** The WebSocket library `ws`, and its masking, which is loaded before it. */
import * as masking from './web-socket-masking.ts';
import * as library from 'ws';

export const { websocketMask, websocketUnmask } = masking;
export const { WebSocket, WebSocketServer } = library;
