import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NewConnections } from '../../../src/base/new-connections.ts';

const from = (remoteAddress: string, remotePort = 1) => ({ remoteAddress, remotePort });

test('as many as the bound come from one address, another address has places of its own', () => {
  const connections = new NewConnections(2);
  assert.notEqual(connections.enter(from('192.0.2.1', 1)), null);
  assert.notEqual(connections.enter(from('192.0.2.1', 2)), null);
  assert.equal(connections.enter(from('192.0.2.1', 3)), null);
  assert.notEqual(connections.enter(from('192.0.2.2', 1)), null);
});

test('all of an IPv6 /64 are one address', () => {
  const connections = new NewConnections(1);
  assert.notEqual(connections.enter(from('2001:db8::1')), null);
  assert.equal(connections.enter(from('2001:db8::2', 2)), null);
  assert.notEqual(connections.enter(from('2001:db8:0:1::2', 3)), null);
});

test('one that is let in or closed makes room, once', () => {
  const connections = new NewConnections(2);
  const close = connections.enter(from('192.0.2.1', 1));
  connections.enter(from('192.0.2.1', 2));
  connections.letIn(from('192.0.2.1', 1));
  close?.();
  assert.notEqual(connections.enter(from('192.0.2.1', 3)), null);
  assert.equal(connections.enter(from('192.0.2.1', 4)), null);
});

test('without a bound, and of one that is gone already, nothing is counted', () => {
  const unbounded = new NewConnections(0);
  for (let port = 0; port < 100; port++) assert.notEqual(unbounded.enter(from('192.0.2.1', port)), null);
  const bounded = new NewConnections(1);
  for (let i = 0; i < 3; i++)
    assert.notEqual(bounded.enter({ remoteAddress: undefined, remotePort: undefined }), null);
});
