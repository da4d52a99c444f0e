import http from 'k6/http';
import { sleep } from 'k6';
export const options = {
  stages: [
    { duration: '30s', target: 20 },
    { duration: '1m30s', target: 100 },
  ],
};
export default function () {
  http.get('http://app:8080/orders');
  sleep(0.5);
}
