import assert from 'node:assert/strict';
import { test } from 'node:test';
import { socketEnd } from '../../../../src/gateways/signal/frame-socket.ts';

test('any close frame is a close by the peer, whatever its code and words', () => {
  for (const code of [1000, 1001, 1005, 4000])
    assert.equal(socketEnd(code, 'Received too big message'), 'peer_closed');
});

test('the end of the stream is a close by the peer, a break is a reset, a fault of its own is malformed', () => {
  assert.equal(socketEnd(1006, 'Received TCP FIN before WebSocket close frame'), 'peer_closed');
  assert.equal(socketEnd(1006, ''), 'reset');
  for (const fault of [
    'Received too big message',
    'Received invalid UTF-8',
    'Received invalid WebSocket frame',
  ])
    assert.equal(socketEnd(1006, fault), 'malformed');
});
