"""The page at which the participant types: GET / on the port of POST /say, with the relay session as ?session=."""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Book a ticket</title>
<h1>Book a ticket</h1>
<ol id="said"></ol>
<form id="chat">
  <label>Your message <textarea id="line" rows="2" cols="60"></textarea></label>
  <button id="send-line" disabled>Send</button>
  <output id="trouble"></output>
</form>
<script>
const form = document.querySelector('#chat'), line = document.querySelector('#line');
const button = document.querySelector('#send-line'), trouble = document.querySelector('#trouble');
const sessionId = new URLSearchParams(location.search).get('session') ?? 'default';

line.addEventListener('input', () => { button.disabled = line.value.trim() === ''; });
line.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const text = line.value;
  if (text.trim() === '') return;
  line.value = '';
  button.disabled = true;
  const answer = await fetch('/say', { method: 'POST', body: JSON.stringify({ sessionId, text }) });
  const said = await answer.json();
  trouble.value = answer.ok ? '' : said.error;
  if (answer.ok) document.querySelector('#said').append(Object.assign(document.createElement('li'), { textContent: text }));
});
</script>
</html>
"""
