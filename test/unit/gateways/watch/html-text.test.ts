import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Html, html } from '../../../../src/gateways/watch/html-text.ts';

test('text that is put into HTML stays text', () => {
  const hostile = `</p><script>alert("1" + '2')</script>&amp;`;
  const { text } = html`<p title="${hostile}">${hostile}</p>`;
  const escaped = '&#60;/p&#62;&#60;script&#62;alert(&#34;1&#34; + &#39;2&#39;)&#60;/script&#62;&#38;amp;';
  assert.equal(text, `<p title="${escaped}">${escaped}</p>`);
});

test('HTML, a list of it, and numbers go in as they are', () => {
  const items = ['a', '<'].map((item) => html`<b>${item}</b>`);
  assert.equal(html`<i>${items}</i>`.text, '<i><b>a</b><b>&#60;</b></i>');
  assert.equal(html`${new Html('<hr>')}${7}`.text, '<hr>7');
});
