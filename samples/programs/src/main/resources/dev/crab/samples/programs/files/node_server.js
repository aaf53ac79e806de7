// A development server: hits, what was set, and a timer that ticks, all in memory.
const http = require('http');
let hits = 0, ticks = 0;
const set = new Map();
setInterval(() => { ticks++; }, 50);
http.createServer((request, response) => {
  hits++;
  const url = new URL(request.url, 'http://localhost');
  for (const [name, value] of url.searchParams) set.set(name, value);
  if (url.pathname === '/tick') {
    const before = ticks;
    const wait = setInterval(() => { if (ticks > before) { clearInterval(wait); response.end('ticks\n'); } }, 10);
  } else {
    response.end(`${hits} hits, ${set.size} set, last ${[...set.values()].pop()}\n`);
  }
}).listen(3000, '127.0.0.1');
