import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showable, showableLines } from '../../../src/lib/showable-text.ts';

const clearScreen = '\u001b[2J';

test('characters that control a terminal are escaped', () => {
  assert.equal(showable('DOOR-1 é 門'), 'DOOR-1 é 門');
  assert.equal(showable('\u001b[2J\r\n\u202e\u0085'), '\\u001b[2J\\u000d\\u000a\\u202e\\u0085');
  assert.equal(showable('\u{e0001}'), '\\u{e0001}');
});

test('whole lines keep line feeds and tabs, and no other character that moves or reverses text', () => {
  assert.equal(showableLines('a\tb\nc é 門'), 'a\tb\nc é 門');
  assert.equal(
    showableLines(`x${clearScreen}\u009b\u007f\r\u202e\u2067y`),
    'x\\u001b[2J\\u009b\\u007f\\u000d\\u202e\\u2067y',
  );
});
