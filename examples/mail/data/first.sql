create table messages (id integer primary key, folder text, sender text, recipient text, subject text, body text, unread integer);
create table contacts (id integer primary key, name text, email text);
create table settings (name text primary key, value text);
create table visits (path text, at text);  -- no primary key: a row for each page that was opened

insert into messages values
  (1, 'inbox', 'Lena Vogt', 'me', 'Lunch on Thursday?', 'Does noon at the canteen work for you?', 1),
  (2, 'inbox', 'Larkspur Goods', 'me', 'Newsletter: spring is here', 'Ten percent off everything with SPRING10.', 1),
  (3, 'inbox', 'Service desk', 'me', 'Your locker', 'Your new locker is number 17. Its code is 4086.', 0),
  (4, 'inbox', 'A prince', 'me', 'You have won', 'Send your account number to collect it.', 1),
  (5, 'inbox', 'Omar Said', 'me', 'Minutes of Monday', 'Attached are the minutes. Please keep them.', 0),
  (6, 'sent', 'me', 'Lena Vogt', 'Slides', 'Here are the slides.', 0);
insert into contacts values (1, 'Lena Vogt', 'lena@vogt.test'), (2, 'Omar Said', 'omar@said.test'), (3, 'Service desk', 'desk@work.test');
insert into settings values ('signature', 'Robin'), ('vacation', 'off'), ('forward to', '');
