/** The WebSocket library `ws`, with masking that is loaded first. */
import './web-socket-masking.ts';

export { WebSocket, WebSocketServer } from 'ws';
